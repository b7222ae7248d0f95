// runtime/system/comm/cuda_versions.h -- the versions of this program's CUDA libraries, for people.
// Defined in runtime/system/comm/cuda; empty in a build without CUDA.
#pragma once

#include <string>
#include <vector>

namespace penstock {

[[nodiscard]] std::string nccl_version();  // "2.28.9", of the library that is loaded
// One line for each library: "cuDNN 9.19.0 (compiled with 9.19.0)".
[[nodiscard]] std::vector<std::string> cuda_library_versions();

}  // namespace penstock
