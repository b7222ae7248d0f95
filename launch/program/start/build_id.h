// launch/program/start/build_id.h -- which build of the program this process is.
#pragma once

#include <string>

namespace penstock {

// What the linker has noted in it, in hexadecimal (the GNU build-id): equal for copies of a file,
// different when anything in it is. Empty where the linker notes nothing. Reads memory alone.
[[nodiscard]] std::string build_id();

// The same of the library that this process has its kernels from: of several, one for each level of
// processor, the loader has taken one. Empty where the kernels are a part of the program.
[[nodiscard]] std::string kernels_build_id();

}  // namespace penstock
