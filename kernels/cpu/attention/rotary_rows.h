// kernels/cpu/attention/rotary_rows.h -- rotary positions: turns one head of one position by the
// angles of its place (Su et al. 2021).
#pragma once

#include <cstdint>

#include "kernels/ops/attention.h"

namespace penstock {

// Overwrites y, `depth` elements, with x in which each of the depth / 2 `pairs` is turned. `waves`
// are the depth / 2 cosines of the place's angles, then their sines. `back` turns the other way. y
// may be x.
template <class T>
void rotary_row(T* y, const T* x, const float* waves, int64_t depth, RotaryPairs pairs, bool back) {
  const int64_t half = depth / 2;
  const float sign = back ? -1.0F : 1.0F;
  const auto turn = [=](int64_t pair, int64_t first, int64_t second) {
    const auto a = static_cast<float>(x[first]);
    const auto b = static_cast<float>(x[second]);
    const float cosine = waves[pair];
    const float sine = sign * waves[pair + half];
    y[first] = static_cast<T>(a * cosine - b * sine);
    y[second] = static_cast<T>(b * cosine + a * sine);
  };
  if (pairs == RotaryPairs::Neighbours) {
#pragma GCC ivdep
    for (int64_t c = 0; c < half; ++c) turn(c, 2 * c, 2 * c + 1);
    return;
  }
#pragma GCC ivdep
  for (int64_t c = 0; c < half; ++c) turn(c, c, c + half);
}

}  // namespace penstock
