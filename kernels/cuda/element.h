// kernels/cuda/element.h -- fp32 and bf16 elements in kernels: computed with as fp32, loaded and
// stored by packs of 16 bytes. For .cu files.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/tensor.h"

namespace penstock {

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T element[kCount];
};

__device__ inline float wide(float x) {
  return x;
}
__device__ inline float wide(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <class T>
__device__ T narrow(float x);
template <>
__device__ inline float narrow<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// Calls f with the tensor's address, typed as kernels see it. fp32 and bf16 only.
template <class F>
void with_elements(const Tensor& tensor, const F& f) {
  switch (tensor.dtype()) {
    case DType::F32:
      return f(static_cast<float*>(tensor.raw()));
    case DType::BF16:
      return f(static_cast<__nv_bfloat16*>(tensor.raw()));
    default:
      fail_internal(std::string("this CUDA op does not compute in ") + name_of(tensor.dtype()));
  }
}

}  // namespace penstock
