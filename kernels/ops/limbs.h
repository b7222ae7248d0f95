// kernels/ops/limbs.h -- a double as three floats that may be added up in fp32, by anyone and in
// any order, and still make a sum of doubles.
//
// The statistics of batch norm are sums over micro-batches and replicas, and what adds them up (an
// all-reduce of gradients) knows only fp32. Their variance is the difference of two such sums,
// which are a million times larger where a channel's mean is a thousand deviations: 24 bits are too
// few.
//
// Take a double of exponent e. The first float is its value rounded toward zero to a multiple of
// 2^(e - kLimbBits + 1), the step of the first float. The second float is what is left, rounded
// toward zero to a multiple of 2^(e - 2 kLimbBits + 1); it is less than one step of the first. The
// third is the rest. Each of the first two has kLimbBits bits where a float holds 24. So sums of
// first floats, and sums of second floats, are exact where the doubles are of similar size and no
// more than 2^(23 - kLimbBits) of them are added: this is the case in which the variance is a small
// difference of large sums. Where the doubles differ much in size, the sums round as sums of floats
// do, but the difference is then not small.
#pragma once

#include <bit>
#include <cstdint>

namespace penstock {

inline constexpr int64_t kLimbs = 3;       // floats of a double
inline constexpr uint64_t kLimbBits = 11;  // of the first and of the second float

struct Limbs {
  float high, middle, low;
};

// `value` rounded toward zero to a multiple of `step`; at most 2^31 steps.
[[nodiscard]] constexpr double whole_steps(double value, double step) {
  return static_cast<int32_t>(value / step) * step;
}

// high + middle + low is `value` to 46 bits, within the range of fp32. Kernels of CUDA call it,
// too.
[[nodiscard]] constexpr Limbs limbs_of(double value) {
  constexpr uint64_t kExponents = 0x7ff;
  const uint64_t exponent = std::bit_cast<uint64_t>(value) >> 52 & kExponents;
  if (exponent <= 2 * kLimbBits || exponent == kExponents) {  // nothing, infinite or no number
    return {static_cast<float>(value), 0.0F, 0.0F};
  }
  const auto coarse = std::bit_cast<double>((exponent - kLimbBits + 1) << 52);
  const auto fine = std::bit_cast<double>((exponent - 2 * kLimbBits + 1) << 52);
  const double high = whole_steps(value, coarse);
  const double middle = whole_steps(value - high, fine);
  return {static_cast<float>(high), static_cast<float>(middle),
          static_cast<float>(value - high - middle)};
}

// The double of three limbs, or the sum of doubles whose limbs were added up.
[[nodiscard]] constexpr double value_of(float high, float middle, float low) {
  return double{high} + (double{middle} + double{low});
}

}  // namespace penstock
