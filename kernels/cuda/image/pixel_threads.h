// kernels/cuda/image/pixel_threads.h -- which pixel and channels a thread owns, for kernels that
// gather each pixel of a channels-last image by itself.
#pragma once

#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {

constexpr int kPixelThreads = 128;

// The elements that a thread owns: N channels from `channel` on at (y, x) of an image. One row of
// pixels a blockIdx.x, its columns and channels along blockIdx.y.
struct Place {
  int64_t image;
  int y, x;
  int64_t channel;
  bool inside;
};
template <int N>
__device__ Place place_of_thread(int height, int width, int64_t channels) {
  const auto groups = static_cast<uint32_t>(channels / N);
  const uint32_t at = blockIdx.y * kPixelThreads + threadIdx.x;
  const auto column = static_cast<int>(at / groups);
  return {static_cast<int64_t>(blockIdx.x / static_cast<uint32_t>(height)),
          static_cast<int>(blockIdx.x % static_cast<uint32_t>(height)), column,
          int64_t{at % groups} * N, column < width};
}
template <int N>
LaunchShape place_shape(int64_t images, int64_t height, int64_t width, int64_t channels) {
  return {.grid = {static_cast<uint32_t>(images * height),
                   blocks_for(width * (channels / N), kPixelThreads)},
          .block = {kPixelThreads}};
}

// Calls f<N>() with the groups that the channels and addresses allow.
template <class T, class F>
void by_group(int64_t channels, const void* a, const void* b, const F& f) {
  constexpr int kWide = kGroup<T>;
  const bool wide = channels % kWide == 0 && is_aligned<kWide>(static_cast<const T*>(a)) &&
                    is_aligned<kWide>(static_cast<const T*>(b));
  wide ? f.template operator()<kWide>() : f.template operator()<1>();
}

}  // namespace penstock
