// tests/host_cuda/shadow/kernels/cuda/loops/dynamic_shared.h -- replaces
// kernels/cuda/loops/dynamic_shared.h where device code runs on the host: the block's dynamic
// shared memory.
#pragma once

#include "tests/host_cuda/block.h"

namespace penstock {

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(host_cuda::dynamic_shared_memory());
}

}  // namespace penstock
