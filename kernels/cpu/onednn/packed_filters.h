// kernels/cpu/onednn/packed_filters.h -- how many numbers a filter holds in the layouts that oneDNN
// likes for channels-last images: channels in blocks of 16 with AVX-512 and of 8 without, filled up
// with zeros. Pure arithmetic, for those who count; onednn_convolution.cpp asks the library itself.
//
// Exact for filters of one group, but for what the library decides by the size of images: blocks
// of several blocks where AVX-512 has 40, 48 or 80 channels, no blocks at all where AVX2 meets
// few channels, large kernels and strides.
#pragma once

#include <cstdint>

#include "kernels/shape.h"

namespace penstock {

enum class FilterUse : uint8_t {
  Forward,
  InputGradient,
  WeightGradient,
  Product,  // by a matrix product: not packed
};

// `filter` is [out, in / groups, kernel_h, kernel_w], `block` 8 or 16.
[[nodiscard]] inline int64_t packed_elements(const Shape& filter, int64_t groups, DType dtype,
                                             FilterUse use, int64_t block) {
  const auto rounded = [](int64_t channels, int64_t multiple) {
    return (channels + multiple - 1) / multiple * multiple;
  };
  const int64_t out = filter[0] / groups;
  const int64_t in = filter[1];
  const int64_t window = filter[2] * filter[3];
  if (groups > 1 && out == 1 && in == 1) return rounded(groups, block) * window;
  const bool avx512 = block == 16;
  const bool few = in < block;
  int64_t entering = rounded(in, block);
  if (use == FilterUse::Forward && avx512 && !(few && groups > 1)) {
    entering = rounded(in, 4 / static_cast<int64_t>(size_of(dtype)));  // words of 4 bytes
  }
  const bool thin = few && window > 1;
  if (use == FilterUse::Forward && !avx512 && thin) entering = in;
  if (use == FilterUse::WeightGradient && avx512 && thin && groups == 1) entering = in;
  return groups * rounded(out, block) * entering * window;
}

}  // namespace penstock
