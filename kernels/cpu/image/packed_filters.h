// kernels/cpu/image/packed_filters.h -- how many numbers a filter holds in the layouts that oneDNN
// 2.6 likes for channels-last images: channels in blocks of 16 with AVX-512 and of 8 without,
// filled up with zeros; in bf16 on a processor with AMX, tiles of 32 by 16. Pure arithmetic for
// kernels/counting where it models a processor that is not here; of the one at hand the library
// itself is asked (kernels/cpu/onednn/filter_form.h).
//
// The numbers are exact for filters of one group. They are estimates for filters of several groups,
// and where the library's choice depends on the size of the images, too: with AVX-512 it may join
// blocks where there are 40, 48 or 80 channels; with AVX2 it may use no blocks for few channels,
// large kernels and strides; and with AMX images of one channel differ.
#pragma once

#include <cstdint>

#include "kernels/cpu/image/convolution_plan.h"
#include "kernels/device_model.h"
#include "kernels/shape.h"

namespace penstock {

// `channels`, rounded up to whole blocks.
[[nodiscard]] inline int64_t whole_blocks(int64_t channels, int64_t block) {
  return (channels + block - 1) / block * block;
}

// Returns how many elements one pixel of a packed filter has for the channels [out, in] of one
// group. `dtype`: fp32 or bf16; `several`: the window has several pixels; `grouped`: there are
// several groups; `block`: channels of a block, 8 or 16.
[[nodiscard]] inline int64_t packed_channels(int64_t out, int64_t in, bool several, DType dtype,
                                             FilterUse use, bool grouped, int64_t block) {
  const bool avx512 = block == 16;
  const bool few = in < block;
  int64_t entering = whole_blocks(in, block);
  if (use == FilterUse::Forward && avx512 && !(few && grouped)) {
    entering = whole_blocks(in, 4 / static_cast<int64_t>(size_of(dtype)));  // words of 4 bytes
  }
  const bool thin = few && several;
  if (use == FilterUse::Forward && !avx512 && thin) entering = in;
  if (use == FilterUse::WeightGradient && avx512 && thin && !grouped) entering = in;
  return whole_blocks(out, block) * entering;
}

// The same as packed_channels(), for filters of one group for bf16 images with AMX.
[[nodiscard]] inline int64_t tile_channels(int64_t out, int64_t in, bool several, FilterUse use) {
  constexpr int64_t kBlock = 16;
  constexpr int64_t kTile = 2 * kBlock;   // of what a product sums over
  constexpr int64_t kFewestOfAPixel = 5;  // fewer are summed over together with their neighbours
  int64_t entering = whole_blocks(in, kBlock);
  if (use == FilterUse::InputGradient) return whole_blocks(out, kTile) * entering;
  if (use == FilterUse::Forward) {
    const bool together = several && in < kFewestOfAPixel;
    entering = together ? in : whole_blocks(in, in < kTile ? 2 : kTile);
  }
  return whole_blocks(out, kBlock) * entering;
}

// Returns how many elements a packed filter [out, in / groups, kernel_h, kernel_w] has in all where
// `use` reads or writes it; `dtype` is that of the images.
[[nodiscard]] inline int64_t packed_elements(const Shape& filter, int64_t groups, DType dtype,
                                             FilterUse use, FilterBlocks blocks) {
  const int64_t block = blocks == FilterBlocks::Of8 ? 8 : 16;
  const int64_t out = filter[0] / groups;
  const int64_t in = filter[1];
  const int64_t window = filter[2] * filter[3];
  if (groups > 1 && out == 1 && in == 1) return whole_blocks(groups, block) * window;
  const bool tiles = blocks == FilterBlocks::Tiles && dtype == DType::BF16 && groups == 1;
  const int64_t channels =
      tiles ? tile_channels(out, in, window > 1, use)
            : packed_channels(out, in, window > 1, dtype, use, groups > 1, block);
  return groups * channels * window;
}

}  // namespace penstock
