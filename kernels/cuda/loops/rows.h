// kernels/cuda/loops/rows.h -- how threads share the rows of a matrix [rows, width]: a warp a row
// for narrow ones, a block a row for wide ones. For .cu files.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/cuda/loops/reduce.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {

// The rows of a block when each has one warp.
inline constexpr int kRowsPerBlock = 4;

// The launch with kThreads threads a row: blocks of [kThreads] threads, or of [kWarp,
// kRowsPerBlock] with a warp a row.
template <int kThreads>
[[nodiscard]] LaunchShape row_shape(int64_t rows) {
  if constexpr (kThreads == kWarp) {
    return {.grid = {blocks_for(rows, kRowsPerBlock)}, .block = {kWarp, kRowsPerBlock}};
  }
  return {.grid = {static_cast<uint32_t>(rows)}, .block = {kThreads}};
}
// The row of this thread. With a warp a row it may be past the end, and the warp then has nothing
// to do; with a block a row it never is.
template <int kThreads>
__device__ int64_t row_of_thread() {
  if constexpr (kThreads == kWarp) return int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.y;
  return blockIdx.x;
}

// A row that its threads hold in registers, kHeld groups of N each, of `groups` in all; groups
// beyond those held (very wide rows) are read again whenever they are needed. from_memory(group)
// returns a group as Floats<N>.
template <int N, int kThreads, int kHeld>
struct HeldRow {
  Floats<N> held[kHeld];

  template <class Read>
  __device__ void read(int64_t groups, const Read& from_memory) {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const int64_t group = int64_t{h} * kThreads + static_cast<int64_t>(threadIdx.x);
      if (group < groups) held[h] = from_memory(group);
    }
  }
  // Calls visit(group, values) for each group of this thread, in ascending order.
  template <class Read, class Visit>
  __device__ void each(int64_t groups, const Read& from_memory, const Visit& visit) const {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const int64_t group = int64_t{h} * kThreads + static_cast<int64_t>(threadIdx.x);
      if (group < groups) visit(group, held[h]);
    }
    for (int64_t group = int64_t{kHeld} * kThreads + static_cast<int64_t>(threadIdx.x);
         group < groups; group += kThreads) {
      visit(group, from_memory(group));
    }
  }
};

}  // namespace penstock
