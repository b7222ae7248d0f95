// launch/program/start/build_id.h -- which build of the program this process is.
#pragma once

#include <string>

namespace penstock {

// The GNU build-id of the program, in hexadecimal: equal for copies of a file, and different where
// anything in the file differs. Empty where the linker writes none. Reads no file, only memory.
[[nodiscard]] std::string build_id();

// The build-id of the library of kernels that the loader has chosen for this processor's level.
// Empty where the kernels are a part of the program.
[[nodiscard]] std::string kernels_build_id();

}  // namespace penstock
