// kernels/cuda/loops/vector.h -- reads and writes N elements at a time, as floats: 16 bytes an
// access where addresses allow, else element by element. For .cu files.
//
// Shapes alone decide which thread gets which elements; `kAligned` only chooses the instructions.
// So results do not depend on the address of a tensor.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/bfloat16.h"

namespace penstock {

template <int N>
struct Floats {
  float at[N];
  __device__ float& operator[](int i) { return at[i]; }
  __device__ const float& operator[](int i) const { return at[i]; }
};

// How many elements of the widest of these types 16 bytes hold: the elements of a group.
template <class... T>
inline constexpr int kGroup = 16 / static_cast<int>(std::max({sizeof(T)...}));

// Whether N elements can be read or written at once at that address: it is a multiple of the N
// elements' size.
template <int N, class T>
bool is_aligned(const T* address) {
  return reinterpret_cast<uintptr_t>(address) % (N * sizeof(T)) == 0;
}

// Read or write 1, 2, 4 or 8 words of 4 bytes by 4-, 8- or 16-byte accesses (two of the latter for
// 8 words), to which the address must be aligned.
namespace words {

__device__ inline void load(uint32_t (&to)[1], const void* from) {
  to[0] = *static_cast<const uint32_t*>(from);
}
__device__ inline void load(uint32_t (&to)[2], const void* from) {
  const uint2 v = *static_cast<const uint2*>(from);
  to[0] = v.x, to[1] = v.y;
}
__device__ inline void load(uint32_t (&to)[4], const void* from) {
  const uint4 v = *static_cast<const uint4*>(from);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ inline void load(uint32_t (&to)[8], const void* from) {
  const uint4 a = static_cast<const uint4*>(from)[0];
  const uint4 b = static_cast<const uint4*>(from)[1];
  to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w;
  to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
}
__device__ inline void store(void* to, const uint32_t (&from)[1]) {
  *static_cast<uint32_t*>(to) = from[0];
}
__device__ inline void store(void* to, const uint32_t (&from)[2]) {
  *static_cast<uint2*>(to) = make_uint2(from[0], from[1]);
}
__device__ inline void store(void* to, const uint32_t (&from)[4]) {
  *static_cast<uint4*>(to) = make_uint4(from[0], from[1], from[2], from[3]);
}
__device__ inline void store(void* to, const uint32_t (&from)[8]) {
  static_cast<uint4*>(to)[0] = make_uint4(from[0], from[1], from[2], from[3]);
  static_cast<uint4*>(to)[1] = make_uint4(from[4], from[5], from[6], from[7]);
}

}  // namespace words

__device__ inline float widened(float x) {
  return x;
}
__device__ inline float widened(bfloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

__device__ inline void narrow_to(float* to, float x) {
  *to = x;
}
__device__ inline void narrow_to(bfloat16* to, float x) {
  to->bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

// Returns the N elements at `from` as floats. kAligned: they are read at once, for which
// is_aligned<N>() must hold; else one by one.
template <int N, bool kAligned = true, class T>
__device__ Floats<N> load(const T* from) {
  Floats<N> x;
  if constexpr (N == 1 || !kAligned) {
    for (int i = 0; i < N; ++i) x[i] = widened(from[i]);
  } else {
    uint32_t raw[N * sizeof(T) / 4];
    words::load(raw, from);
    for (int i = 0; i < N; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        x[i] = std::bit_cast<float>(raw[i]);
      } else {
        x[i] = std::bit_cast<float>(i % 2 == 0 ? raw[i / 2] << 16 : raw[i / 2] & 0xffff0000U);
      }
    }
  }
  return x;
}

// Writes N floats to `to`, rounded to T. kAligned: they are written at once, for which
// is_aligned<N>() must hold; else one by one.
template <int N, bool kAligned = true, class T>
__device__ void store(T* to, const Floats<N>& x) {
  if constexpr (N == 1 || !kAligned) {
    for (int i = 0; i < N; ++i) narrow_to(to + i, x[i]);
  } else {
    uint32_t raw[N * sizeof(T) / 4];
    for (int i = 0; i < static_cast<int>(N * sizeof(T) / 4); ++i) {
      if constexpr (std::is_same_v<T, float>) {
        raw[i] = std::bit_cast<uint32_t>(x[i]);
      } else {
        const uint32_t low = __bfloat16_as_ushort(__float2bfloat16_rn(x[2 * i]));
        const uint32_t high = __bfloat16_as_ushort(__float2bfloat16_rn(x[2 * i + 1]));
        raw[i] = low | high << 16;
      }
    }
    words::store(to, raw);
  }
}

}  // namespace penstock
