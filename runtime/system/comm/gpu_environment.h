// runtime/system/comm/gpu_environment.h -- chooses environment variables that CUDA and NCCL read
// once, before their first call, and whose defaults do not suit a job of several ranks. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/system/comm/launcher.h"

namespace penstock {

struct EnvironmentVariable {
  std::string name, value;
};

// The variables to set, without those that the user has set; NCCL_NVLS_ENABLE is also left alone
// where NCCL_ALGO is set.
//   CUDA_MODULE_LOADING=EAGER
//       By default code is loaded at its first use, which may have to wait until all kernels of the
//       context have ended (CUDA Programming Guide, "Lazy Loading", "Potential Hazards"): a
//       deadlock where a kernel of NCCL waits for a rank that waits for the kernel to be loaded.
//       Loading at the start costs some memory and start-up time.
//   NCCL_NVLS_ENABLE=0
//       This turns off sums in the switch (NVLink SHARP). NCCL's documentation promises no order
//       for its sums; issues report other bits from call to call with this algorithm, and
//       Megatron's deterministic mode excludes it. Only sums over two replicas are NCCL's
//       (nccl_sums.cpp), and a + b has one result in any order of fp32 additions; whether a switch
//       adds so we have not seen.
[[nodiscard]] std::vector<EnvironmentVariable> gpu_environment(const Environment& environment);

}  // namespace penstock
