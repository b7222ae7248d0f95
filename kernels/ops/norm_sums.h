// kernels/ops/norm_sums.h -- the sums that batch norm takes of a channel in a step, and the mean
// and variance that follow: one arithmetic for all devices.
#pragma once

#include "kernels/ops/limbs.h"

namespace penstock {

// The number of rows of a tensor of sums, fp32 [kNormSums, channels]. Rows 0, 1 and 2 are the high,
// middle and low limbs (limbs.h) of each channel's sum of x, rows 3, 4 and 5 those of its sum of
// x^2. Such tensors may be added up in fp32, element by element.
inline constexpr int64_t kNormSums = 2 * kLimbs;

struct Moments {
  float mean, variance;
};

// Writes the limbs of one channel's sums; `to` is the channel's element in the first row.
constexpr void write_norm_sums(float* to, int64_t channels, double sum, double squares) {
  const Limbs first = limbs_of(sum);
  const Limbs second = limbs_of(squares);
  for (float limb : {first.high, first.middle, first.low}) {
    *to = limb;
    to += channels;
  }
  for (float limb : {second.high, second.middle, second.low}) {
    *to = limb;
    to += channels;
  }
}

// Mean and unbiased variance of a channel of `positions` numbers (of one: variance 0); `from` is
// the channel's element in the first row of the sums.
[[nodiscard]] constexpr Moments norm_moments(const float* from, int64_t channels,
                                             double positions) {
  const double sum = value_of(from[0], from[channels], from[2 * channels]);
  from += kLimbs * channels;
  const double squares = value_of(from[0], from[channels], from[2 * channels]);
  const double mean = sum / positions;
  const double deviation = squares - mean * sum;  // may round below zero, whose root would be NaN
  const double count = positions > 1.0 ? positions - 1.0 : 1.0;
  return {static_cast<float>(mean), deviation < 0.0 ? 0.0F : static_cast<float>(deviation / count)};
}

}  // namespace penstock
