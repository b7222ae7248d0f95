// kernels/cuda/report.h -- report(): a kernel tells the host of bad data. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/trouble.h"

namespace penstock {

// Writes a finding, unless an earlier one is there that the host has not looked at yet.
__device__ inline void report(Finding* finding, Finding::Kind kind, int32_t value, int64_t limit) {
  if (atomicCAS_system(&finding->kind, static_cast<int32_t>(Finding::None),
                       static_cast<int32_t>(kind)) != Finding::None) {
    return;
  }
  finding->value = value;
  finding->limit = static_cast<int32_t>(limit);
  __threadfence_system();
}

}  // namespace penstock
