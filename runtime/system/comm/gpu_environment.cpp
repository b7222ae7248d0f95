#include "runtime/system/comm/gpu_environment.h"

namespace penstock {

std::vector<EnvironmentVariable> gpu_environment(const Environment& environment) {
  std::vector<EnvironmentVariable> missing;
  if (environment("CUDA_MODULE_LOADING") == nullptr) {
    missing.push_back({"CUDA_MODULE_LOADING", "EAGER"});
  }
  // NVLS is left as it is where the user names algorithms: that is a choice, too.
  if (environment("NCCL_NVLS_ENABLE") == nullptr && environment("NCCL_ALGO") == nullptr) {
    missing.push_back({"NCCL_NVLS_ENABLE", "0"});
  }
  return missing;
}

}  // namespace penstock
