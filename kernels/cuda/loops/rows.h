// kernels/cuda/loops/rows.h -- how threads share the rows of a matrix [rows, width]: a warp a row
// for narrow ones, a block a row for wide ones. For .cu files.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/cuda/loops/reduce.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {

// The rows of a thread block where a warp has a row.
inline constexpr int kRowsPerBlock = 4;

// Returns the launch of a kernel over `rows` rows with kThreads threads for each. With kThreads ==
// kWarp a block has kRowsPerBlock rows: threadIdx.x is the lane, threadIdx.y the row in the block.
// Else a block of kThreads threads has one row.
template <int kThreads>
[[nodiscard]] LaunchShape row_shape(int64_t rows) {
  if constexpr (kThreads == kWarp) {
    return {.grid = {blocks_for(rows, kRowsPerBlock)}, .block = {kWarp, kRowsPerBlock}};
  }
  return {.grid = {static_cast<uint32_t>(rows)}, .block = {kThreads}};
}
// Returns the row of this thread in such a launch. Where a warp has a row, the row may not exist
// (>= rows), and the warp then has nothing to do.
template <int kThreads>
__device__ int64_t row_of_thread() {
  if constexpr (kThreads == kWarp) return int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.y;
  return blockIdx.x;
}

// A row of `groups` groups of N elements whose kThreads threads hold it in registers: group i
// belongs to thread i % kThreads, which holds its first kHeld groups. The groups of very wide rows
// beyond those are read again whenever they are needed. from_memory(group) must return a group as
// Floats<N>. Call read() before each(), with the same `groups`.
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
