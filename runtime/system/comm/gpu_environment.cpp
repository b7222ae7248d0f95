#include "runtime/system/comm/gpu_environment.h"

namespace penstock {

std::vector<EnvironmentVariable> gpu_environment(const Environment& environment) {
  std::vector<EnvironmentVariable> missing;
  if (environment("CUDA_MODULE_LOADING") == nullptr) {
    missing.push_back({"CUDA_MODULE_LOADING", "EAGER"});
  }
  // If the user names NCCL's algorithms, NVLS stays as it is: the user may have chosen it.
  if (environment("NCCL_NVLS_ENABLE") == nullptr && environment("NCCL_ALGO") == nullptr) {
    missing.push_back({"NCCL_NVLS_ENABLE", "0"});
  }
  return missing;
}

}  // namespace penstock
