// kernels/cpu/loops/rotary_rows.h -- rotary positions: turns one head of one position by the
// angles of its place (Su et al. 2021).
#pragma once

#include <cstdint>

namespace penstock {

// Overwrites y, `depth` elements, with x in which the elements c and c + depth / 2 are turned as a
// pair, c < depth / 2. `waves` are the depth / 2 cosines of the place's angles, then their sines.
// `back` turns the other way. y may be x.
template <class T>
void rotary_row(T* y, const T* x, const float* waves, int64_t depth, bool back) {
  const int64_t half = depth / 2;
  const float sign = back ? -1.0F : 1.0F;
#pragma GCC ivdep
  for (int64_t c = 0; c < half; ++c) {
    const auto a = static_cast<float>(x[c]);
    const auto b = static_cast<float>(x[c + half]);
    const float cosine = waves[c];
    const float sine = sign * waves[c + half];
    y[c] = static_cast<T>(a * cosine - b * sine);
    y[c + half] = static_cast<T>(b * cosine + a * sine);
  }
}

}  // namespace penstock
