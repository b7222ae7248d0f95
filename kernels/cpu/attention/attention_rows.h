// kernels/cpu/attention/attention_rows.h -- one row of scores: softmax, probabilities and their
// gradients, each a pass over numbers in the cache. T is float or bfloat16; sums are fp32. Private
// to attention.cpp.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/random_mask.h"
#include "kernels/cpu/loops/simd_math.h"

namespace penstock {

// y = softmax(x), `width` numbers.
template <class T>
void softmax_row(T* y, const T* x, int64_t width) {
  const float top = simd_max(width, [x](int64_t i) { return static_cast<float>(x[i]); });
  const float sum =
      simd_sum(width, [x, top](int64_t i) { return simd_exp(static_cast<float>(x[i]) - top); });
  const float share = 1.0F / sum;
#pragma GCC ivdep
  for (int64_t i = 0; i < width; ++i) {
    y[i] = static_cast<T>(simd_exp(static_cast<float>(x[i]) - top) * share);
  }
}

// dx from the gradient g of y = softmax(x).
template <class T>
void softmax_backward_row(T* dx, const T* g, const T* y, int64_t width) {
  const float dot = simd_dot(g, y, width);
  map_row(dx, g, y, width, [dot](float gi, float yi) { return yi * (gi - dot); });
}

// The keys [begin, end) of a row that its query sees.
struct SeenKeys {
  int64_t begin, end;
};

// Soft-capping of scores (AttentionOptions::softcap).
struct Softcap {
  float cap = 0.0F, inverse = 0.0F;  // inverse: 1 / cap; both 0: scores stay as they are

  explicit Softcap(float softcap) : cap(softcap), inverse(softcap > 0.0F ? 1.0F / softcap : 0.0F) {}
  // Caps the scores of the keys that are seen, in place.
  void apply(float* s, SeenKeys seen) const {
    if (cap == 0.0F) return;
#pragma GCC ivdep
    for (int64_t j = seen.begin; j < seen.end; ++j) s[j] = cap * simd_tanh(s[j] * inverse);
  }
  // The derivative of capping, from the capped score; 1 where scores stay.
  [[nodiscard]] float slope(float capped) const {
    const float share = capped * inverse;
    return 1.0F - share * share;
  }
};

// Writes p[0 .. keys): the probabilities, after dropout, of the seen keys from their scores s, and
// 0 for the keys that are not seen. s is overwritten as well. Returns the logsumexp of the seen
// scores, minus infinity if none are seen. p may be s. `element` is the dropout index of p[0]
// (AttentionOptions::dropout).
template <class T>
float probabilities_row(T* p, float* s, SeenKeys seen, int64_t keys, const RandomMask& mask,
                        int64_t element) {
  std::fill(p, p + seen.begin, static_cast<T>(0.0F));
  std::fill(p + seen.end, p + keys, static_cast<T>(0.0F));
  const int64_t visible = seen.end - seen.begin;
  p += seen.begin;
  s += seen.begin;
  element += seen.begin;
  if (visible == 0) return -std::numeric_limits<float>::infinity();
  const float top = simd_max(visible, [s](int64_t j) { return s[j]; });
  const float sum = simd_sum(visible, [s, top](int64_t j) {
    s[j] = simd_exp(s[j] - top);
    return s[j];
  });
  const float share = 1.0F / sum;
  if (!mask.active()) {
    map_row(p, s, visible, [share](float sj) { return sj * share; });
    return top + std::log(sum);
  }
  alignas(64) float factors[RandomMask::kChunk];
  for (int64_t begin = 0; begin < visible; begin += RandomMask::kChunk) {
    const int64_t count = std::min(RandomMask::kChunk, visible - begin);
    mask.fill(factors, element + begin, count);
    map_row(p + begin, s + begin, factors, count,
            [share](float sj, float factor) { return sj * share * factor; });
  }
  return top + std::log(sum);
}

// Writes p = M P and ds = scale C P (M dp - dot), `keys` elements each, 0 for the keys that are not
// seen. P = e^(s - logsumexp) are the probabilities before dropout, M the factors of dropout, C the
// slopes of soft-capping, which has been applied to s, dp the gradient of the row's probabilities
// after dropout, and `dot` the sum over the elements of the head of (gradient of out) out. ds is
// the gradient of the scores before `scale`. p may be s, and ds may be dp. `element` is the dropout
// index of p[0].
template <class T>
void score_gradients_row(T* p, T* ds, const float* s, const float* dp, float logsumexp, float dot,
                         float scale, const Softcap& softcap, SeenKeys seen, int64_t keys,
                         const RandomMask& mask, int64_t element) {
  for (T* row : {p, ds}) {
    std::fill(row, row + seen.begin, static_cast<T>(0.0F));
    std::fill(row + seen.end, row + keys, static_cast<T>(0.0F));
  }
  const int64_t visible = seen.end - seen.begin;
  p += seen.begin;
  ds += seen.begin;
  s += seen.begin;
  dp += seen.begin;
  element += seen.begin;
  const auto write = [=](int64_t j, float factor) {
    const float probability = simd_exp(s[j] - logsumexp);
    const float gradient = scale * probability * (factor * dp[j] - dot) * softcap.slope(s[j]);
    p[j] = static_cast<T>(probability * factor);
    ds[j] = static_cast<T>(gradient);
  };
  if (!mask.active()) {
#pragma GCC ivdep
    for (int64_t j = 0; j < visible; ++j) write(j, 1.0F);
    return;
  }
  alignas(64) float factors[RandomMask::kChunk];
  for (int64_t begin = 0; begin < visible; begin += RandomMask::kChunk) {
    const int64_t count = std::min(RandomMask::kChunk, visible - begin);
    mask.fill(factors, element + begin, count);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) write(begin + i, factors[i]);
  }
}

}  // namespace penstock
