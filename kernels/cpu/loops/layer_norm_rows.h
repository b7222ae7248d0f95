// kernels/cpu/loops/layer_norm_rows.h -- layer norm and RMS norm of one row of `width` elements,
// forward and backward, as vectorised loops. T is float or bfloat16; sums are fp32. y and dx are
// overwritten; g is the gradient of y.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cpu/loops/simd_math.h"

namespace penstock {

struct RowStatistics {
  float mean, rstd;  // rstd: 1 / deviation
};

// The mean and 1 / deviation of a row, in two passes: the second sees a row that is still in the
// cache, and subtracts before it squares.
template <class T>
RowStatistics row_statistics(const T* x, int64_t width, float epsilon) {
  const auto count = static_cast<float>(width);
  const float mean = simd_sum(width, [x](int64_t i) { return static_cast<float>(x[i]); }) / count;
  const float squares = simd_sum(width, [x, mean](int64_t i) {
    const float centred = static_cast<float>(x[i]) - mean;
    return centred * centred;
  });
  return {mean, 1.0F / std::sqrt(squares / count + epsilon)};
}

// y = (x - mean) rstd gamma + beta; `beta` null: nothing is added.
template <class T>
void layer_norm_row(T* y, const T* x, RowStatistics s, const float* gamma, const float* beta,
                    int64_t width) {
  const auto scaled = [=](int64_t i) {
    return (static_cast<float>(x[i]) - s.mean) * s.rstd * gamma[i];
  };
  if (beta == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) y[i] = static_cast<T>(scaled(i));
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < width; ++i) y[i] = static_cast<T>(scaled(i) + beta[i]);
}

// dx = rstd (h - mean(h) - n mean(h n)) with h = g gamma and n = the normalised x.
template <class T>
void layer_norm_backward_row(T* dx, const T* g, const T* x, RowStatistics s, const float* gamma,
                             int64_t width) {
  const auto count = static_cast<float>(width);
  const auto h_at = [g, gamma](int64_t i) { return static_cast<float>(g[i]) * gamma[i]; };
  const auto n_at = [x, s](int64_t i) { return (static_cast<float>(x[i]) - s.mean) * s.rstd; };
  const float mean_h = simd_sum(width, h_at) / count;
  const float mean_hn =
      simd_sum(width, [&h_at, &n_at](int64_t i) { return h_at(i) * n_at(i); }) / count;
#pragma GCC ivdep
  for (int64_t i = 0; i < width; ++i) {
    dx[i] = static_cast<T>(s.rstd * (h_at(i) - mean_h - n_at(i) * mean_hn));
  }
}

// y = x rstd (offset + gamma). Returns rstd.
template <class T>
float rms_norm_row(T* y, const T* x, const float* gamma, float offset, int64_t width,
                   float epsilon) {
  const float squares = simd_sum(width, [x](int64_t i) {
    const auto element = static_cast<float>(x[i]);
    return element * element;
  });
  const float rstd = 1.0F / std::sqrt(squares / static_cast<float>(width) + epsilon);
#pragma GCC ivdep
  for (int64_t i = 0; i < width; ++i) {
    y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * (offset + gamma[i]));
  }
  return rstd;
}

// dx = rstd (h - n mean(h n)) with h = g (offset + gamma) and n = x rstd.
template <class T>
void rms_norm_backward_row(T* dx, const T* g, const T* x, float rstd, const float* gamma,
                           float offset, int64_t width) {
  const auto h_at = [g, gamma, offset](int64_t i) {
    return static_cast<float>(g[i]) * (offset + gamma[i]);
  };
  const auto n_at = [x, rstd](int64_t i) { return static_cast<float>(x[i]) * rstd; };
  const float mean_hn = simd_sum(width, [&h_at, &n_at](int64_t i) { return h_at(i) * n_at(i); }) /
                        static_cast<float>(width);
#pragma GCC ivdep
  for (int64_t i = 0; i < width; ++i) {
    dx[i] = static_cast<T>(rstd * (h_at(i) - n_at(i) * mean_hn));
  }
}

}  // namespace penstock
