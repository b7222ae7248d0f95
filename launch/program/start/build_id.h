// launch/program/start/build_id.h -- tells which build of the program this process is, so that a
// job whose ranks run different builds is noticed (start_facts.h).
#pragma once

#include <string>

namespace penstock {

// The GNU build-id of the program, in hexadecimal: the same for copies of a file, another where
// anything in the file differs. Empty where the linker has written none. It is read from memory,
// not from the file.
[[nodiscard]] std::string build_id();

// The build-id of the library of kernels that the loader has chosen for this processor. Empty where
// the kernels are a part of the program.
[[nodiscard]] std::string kernels_build_id();

}  // namespace penstock
