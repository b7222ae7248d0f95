// kernels/cuda/families/norm_statistics.h -- the statistics of batch norm (BatchNormOps): mean and
// 1 / deviation of a micro-batch, and mean and variance from the sums gathered over a step.
// Function objects for launch_column_sums() and launch_elementwise(). For .cu files.
#pragma once

#include "kernels/cuda/loops/column_sums.h"
#include "kernels/cuda/loops/elementwise.h"
#include "kernels/ops/norm_sums.h"

namespace penstock {

// The Body of a sum (column_sums.h): for each channel the sum of d and the sum of d^2 over the
// rows, where d is x minus the channel's value in the first row. So the variance of a channel far
// from zero does not drown in its mean.
template <class T>
struct ShiftedSums {
  static constexpr int kWide = kGroup<T>;
  static constexpr int kTerms = 2;
  static constexpr bool kByRow = false;
  const T* x;
  [[nodiscard]] bool aligned() const { return is_aligned<kWide>(x); }
  template <int N>
  __device__ Floats<N> columns(int64_t j, int64_t channels) const {
    return repeated<N>(x, j, channels);
  }
  template <int N, bool kAligned>
  __device__ void add(Floats<N> (&sums)[2], int64_t /*row*/, int64_t i,
                      const Floats<N>& origin) const {
    const Floats<N> from = load<N, kAligned>(x + i);
    for (int k = 0; k < N; ++k) {
      const float d = from[k] - origin[k];
      sums[0][k] += d;
      sums[1][k] += d * d;
    }
  }
};

// The Finish of that sum: from a channel's totals of ShiftedSums over `count` rows it writes
// mean[c], rstd[c] = 1 / sqrt(variance + epsilon) with the biased variance, and the channel's
// `sums` of x and x^2 (norm_sums.h).
template <class T>
struct WriteStatistics {
  float* mean;
  float* rstd;
  float* sums;  // [kNormSums, channels]
  const T* x;
  int64_t channels;
  double count;
  double epsilon;
  __device__ void operator()(int64_t c, const double (&totals)[2]) const {
    const double shift = widened(x[c]);
    const double s1 = totals[0];
    const double s2 = totals[1];
    const double deviation = s2 / count - (s1 / count) * (s1 / count);
    const double variance = deviation < 0.0 ? 0.0 : deviation;  // NaN stays NaN
    mean[c] = static_cast<float>(shift + s1 / count);
    rstd[c] = static_cast<float>(1.0 / sqrt(variance + epsilon));
    write_norm_sums(sums + c, channels, s1 + count * shift,
                    s2 + 2.0 * shift * s1 + count * shift * shift);
  }
};

// A Body of elementwise.h, an element being a channel: writes its mean and unbiased variance from
// the limbs of its sums over `positions` rows.
struct FindMoments {
  static constexpr int kWide = 1;
  float* mean;
  float* variance;
  const float* sums;  // [kNormSums, channels]
  int64_t channels;
  double positions;
  [[nodiscard]] static bool aligned() { return true; }
  template <int N>
  __device__ Moments load(int64_t c) const {
    return norm_moments(sums + c, channels, positions);
  }
  template <int N>
  __device__ void finish(int64_t c, const Moments& found) const {
    mean[c] = found.mean;
    variance[c] = found.variance;
  }
};

}  // namespace penstock
