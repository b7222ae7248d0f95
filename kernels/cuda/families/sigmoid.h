// kernels/cuda/families/sigmoid.h -- the logistic function. For .cu files.
#pragma once

#include <cuda_runtime.h>

namespace penstock {

__device__ inline float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}

}  // namespace penstock
