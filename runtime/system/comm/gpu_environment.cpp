#include "runtime/system/comm/gpu_environment.h"

namespace penstock {

std::vector<EnvironmentVariable> gpu_environment(const Environment& environment) {
  std::vector<EnvironmentVariable> missing;
  if (environment("CUDA_MODULE_LOADING") == nullptr) {
    missing.push_back({"CUDA_MODULE_LOADING", "EAGER"});
  }
  // NVLS is switched off, unless the user names NCCL's algorithms: NVLS may be one of them.
  if (environment("NCCL_NVLS_ENABLE") == nullptr && environment("NCCL_ALGO") == nullptr) {
    missing.push_back({"NCCL_NVLS_ENABLE", "0"});
  }
  return missing;
}

}  // namespace penstock
