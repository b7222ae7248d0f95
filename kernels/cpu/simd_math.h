// kernels/cpu/simd_math.h -- mathematics that the compiler can vectorise inside a plain loop, and
// sums whose order depends on their length alone. Not a replacement for <cmath> outside of loops.
#pragma once

#include <bit>
#include <cstdint>

namespace penstock {

// e^x within 2 units in the last place for -87.3 <= x <= 88.3; 0 below (so e^-inf is 0), 2.3e38
// above, NaN for NaN. Range reduction of Cody and Waite, then the Taylor series to degree 7.
[[nodiscard]] inline float simd_exp(float x) {
  constexpr float kLowest = -87.3F;
  constexpr float kHighest = 88.3F;
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // 9 bits: multiples up to 128 are exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer

  const float top = x > kHighest ? kHighest : x;
  const float bounded = top < kLowest ? kLowest : top;
  const float shifted = bounded * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;

  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  // The low bits of `shifted` are n; moved into the exponent they are the factor 2^n.
  const uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127U) << 23;
  const float y = p * std::bit_cast<float>(exponent);
  return x < kLowest ? 0.0F : y;
}

// term(0) + ... + term(n - 1) as four interleaved chains, so that no addition waits for the one
// before.
template <class F>
[[nodiscard]] float simd_sum(int64_t n, const F& term) {
  const int64_t quarter = n / 4;
  float a = 0.0F;
  float b = 0.0F;
  float c = 0.0F;
  float d = 0.0F;
#pragma omp simd reduction(+ : a, b, c, d)
  for (int64_t i = 0; i < quarter; ++i) {
    a += term(i);
    b += term(i + quarter);
    c += term(i + 2 * quarter);
    d += term(i + 3 * quarter);
  }
  for (int64_t i = 4 * quarter; i < n; ++i) a += term(i);
  return (a + b) + (c + d);
}

// The largest term; -infinity for none. NaN terms are passed over.
template <class F>
[[nodiscard]] float simd_max(int64_t n, const F& term) {
  float largest = -__builtin_inff();
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; ++i) {
    const float x = term(i);
    largest = x > largest ? x : largest;
  }
  return largest;
}

}  // namespace penstock
