// kernels/cuda/loops/reduce.h -- reduces the values of the threads that share a row (a warp, or a
// block of several warps) to one value. The order is fixed: a tree within each warp, then the warps
// in turn. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

namespace penstock {

inline constexpr int kWarp = 32;  // threads

// Returns the `value` of the lane whose number is this lane's XOR `mask`. All lanes of the warp
// must call it. The size of T must be a multiple of 4 bytes.
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

// Combines the values of a warp, all of whose lanes must call it, and returns the result.
// combine(a, b) must be associative, but for rounding. Where it gives the same bits for (a, b) and
// (b, a), all lanes return the same bits; else the lanes may differ, and the value of lane 0 is the
// one to use.
template <class T, class Combine>
__device__ T warp_reduce(T value, const Combine& combine) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    value = combine(value, from_lane_xor(value, mask));
  }
  return value;
}

// Combines the values of kThreads consecutive threads and returns the result to each of them.
// kThreads is a warp, or the threads of the whole block; all of them must call it. `parts` is
// shared memory for one T of each warp, not used for a single warp; it is overwritten, and may be
// used for something else after the next __syncthreads().
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
