// kernels/cuda/element.h -- fp32 and bf16 elements in kernels: computed with as fp32, loaded and
// stored by packs of 16 bytes. For .cu files.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

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

}  // namespace penstock
