// kernels/cuda/loops/dynamic_shared.h -- gives a kernel the shared memory whose size is given at
// launch (LaunchShape::shared_bytes). For .cu files.
#pragma once

namespace penstock {

// Returns the address of the block's dynamic shared memory, aligned to 16 bytes. It is the same
// memory for every T.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ uint4 penstock_dynamic_shared[];
  return reinterpret_cast<T*>(penstock_dynamic_shared);
}

}  // namespace penstock
