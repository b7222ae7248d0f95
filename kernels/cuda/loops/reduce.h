// kernels/cuda/loops/reduce.h -- reduces the values of the threads that share a row, a warp or a
// block of several, to one value. The order is fixed: a tree in the warp, then the warps in turn.
// For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

namespace penstock {

inline constexpr int kWarp = 32;  // threads

// `value` of the lane whose number differs from this one's in the bits of `mask`. T is made of
// 4-byte words.
template <class T>
__device__ T from_lane_xor(const T& value, int mask) {
  static_assert(sizeof(T) % 4 == 0);
  constexpr int kWords = sizeof(T) / 4;
  uint32_t words[kWords];
  memcpy(words, &value, sizeof(T));
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(0xffffffffU, words[i], mask);
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

// Combines the values of a warp, all of whose lanes must call; combine(a, b) is associative but for
// rounding. Each lane gets the result, to the bit where combine(a, b) is combine(b, a) to the bit;
// else lane 0's is the one to use.
template <class T, class Combine>
__device__ T warp_reduce(T value, const Combine& combine) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    value = combine(value, from_lane_xor(value, mask));
  }
  return value;
}

// Reduces over kThreads consecutive threads, which for more than a warp are the whole block: all of
// it must call. `parts` is shared memory of one T a warp; it is overwritten, and may be used for
// something else after the next __syncthreads().
template <int kThreads, class T, class Combine>
__device__ T row_reduce(T value, T* parts, const Combine& combine) {
  value = warp_reduce(value, combine);
  if constexpr (kThreads > kWarp) {
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();  // the parts of the reduction before this one have been read
    if (thread % kWarp == 0) parts[thread / kWarp] = value;
    __syncthreads();
    value = parts[0];
    for (int warp = 1; warp < kThreads / kWarp; ++warp) value = combine(value, parts[warp]);
  }
  return value;
}

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

}  // namespace penstock
