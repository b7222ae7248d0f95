// kernels/ops/upsample.h -- enlarging images by whole factors: between which pixels of the image a
// pixel of the result lies, and which pixels of the result an image's pixel reaches.
//
// The arithmetic is in integers and the same on every device. The functions are constexpr so that
// kernels on a GPU can call them.
#pragma once

#include <cstdint>

#include "kernels/shape.h"

namespace penstock {

// Nearest: each pixel is repeated. Bilinear: between pixel centres, the border beyond the outermost
// ones (torch's align_corners = False). AlignedCorners: bilinear with the centres of corner pixels
// on each other (align_corners = True).
enum class Upsample : uint8_t { Nearest, Bilinear, AlignedCorners };

struct Enlarging {
  int scale_h = 2, scale_w = 2;
  Upsample kind = Upsample::Nearest;
};

// [n, scale_h h, scale_w w, c] for an input [n, h, w, c]; throws Error(Input) for another rank or a
// scale below 1.
[[nodiscard]] Shape enlarged_shape(const Shape& input, const Enlarging& enlarging);

// A pixel of the result, along one axis: (1 - share) x[low] + share x[high].
struct UpsampleTap {
  int64_t low = 0, high = 0;
  float share = 0.0F;  // of high
  // How much of input pixel `at` is in it.
  [[nodiscard]] constexpr float of(int64_t at) const {
    return (low == at ? 1.0F - share : 0.0F) + (high == at ? share : 0.0F);
  }
};

// One axis of an enlarging: `in` pixels become in * scale.
struct UpsampleAxis {
  int64_t in = 1, scale = 1;
  Upsample kind = Upsample::Nearest;

  [[nodiscard]] constexpr int64_t out() const { return in * scale; }
  [[nodiscard]] constexpr UpsampleTap tap(int64_t at) const {
    if (kind == Upsample::Nearest || out() == 1) return {at / scale, at / scale, 0.0F};
    // The place among input pixels is above / below.
    const bool aligned = kind == Upsample::AlignedCorners;
    const int64_t below = aligned ? out() - 1 : 2 * scale;
    const int64_t place = aligned ? at * (in - 1) : 2 * at + 1 - scale;
    const int64_t above = place < 0 ? 0 : place;
    const int64_t low = above / below;
    const int64_t high = low + 1 < in ? low + 1 : low;
    return {low, high, static_cast<float>(above % below) / static_cast<float>(below)};
  }
  // All pixels of the result in which input pixel `at` may be: [first, last).
  [[nodiscard]] constexpr int64_t first(int64_t at) const {
    if (kind == Upsample::Nearest) return at * scale;
    return at < 1 ? 0 : (at - 1) * scale;
  }
  [[nodiscard]] constexpr int64_t last(int64_t at) const {
    if (kind == Upsample::Nearest) return (at + 1) * scale;
    return (at + 2) * scale < out() ? (at + 2) * scale : out();
  }
};

}  // namespace penstock
