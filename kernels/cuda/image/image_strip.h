// kernels/cuda/image/image_strip.h -- how our own convolutions walk over an image [n, h, w,
// channels]: a thread has a strip of neighbouring positions of a row, so that it reads a filter
// once for all of them; the lanes of a warp have neighbouring channels. For .cu files.
#pragma once

#include "kernels/cuda/loops/reduce.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {

inline constexpr int kStripWarps = 4;  // of a block
inline constexpr int kStrip = 4;       // positions

// The strip of positions that this warp works on: `row` among all rows of all images (-1: the warp
// has none), and positions `first` to first + kStrip - 1 of it, of which those from `width` on do
// not exist.
struct ImageStrip {
  int row, first;  // row -1: none
  __device__ ImageStrip(int rows, int width) {
    const int strips = (width + kStrip - 1) / kStrip;
    const int64_t i = int64_t{blockIdx.x} * kStripWarps + static_cast<int64_t>(threadIdx.y);
    row = i < int64_t{rows} * strips ? static_cast<int>(i / strips) : -1;
    first = static_cast<int>(i % strips) * kStrip;
  }
};

// Returns the launch of a kernel in which each warp has a strip and each thread `wide` neighbouring
// channels of it.
inline LaunchShape a_warp_a_strip(int64_t rows, int64_t width, int64_t channels, int wide = 1) {
  const int64_t strips = (width + kStrip - 1) / kStrip;
  return {.grid = {blocks_for(rows * strips, kStripWarps), blocks_for(channels, kWarp * wide)},
          .block = {kWarp, kStripWarps}};
}

}  // namespace penstock
