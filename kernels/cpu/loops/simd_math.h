// kernels/cpu/loops/simd_math.h -- mathematics that the compiler can vectorise inside a plain loop,
// and sums whose order depends on their length alone. Not a replacement for <cmath> outside of
// loops.
#pragma once

#include <bit>
#include <cstdint>

// Independent loops are marked `GCC ivdep`: vectorise without asking whether pointers overlap. Not
// `omp simd`, under which GCC 12 leaves class types, such as bfloat16, and lambdas alone.
#ifdef __clang__  // vectorises on its own, and does not know the mark
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

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

// tanh(x) within 3 units in the last place: near 0 the odd polynomial of the Cephes library, else
// from e^2|x|.
[[nodiscard]] inline float simd_tanh(float x) {
  constexpr float kNear = 0.625F;
  const float size = x < 0.0F ? -x : x;
  const float far_size = 1.0F - 2.0F / (simd_exp(2.0F * size) + 1.0F);
  const float far = x < 0.0F ? -far_size : far_size;
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  return size < kNear ? p * z * x + x : far;
}

[[nodiscard]] inline float simd_sigmoid(float x) {
  return 1.0F / (1.0F + simd_exp(-x));
}

inline constexpr int64_t kSumLanes = 64;  // four registers of 16: no addition waits for the last

// Returns term(0) + ... + term(n - 1), 0 for n = 0. Term i is added to lane i % kSumLanes, then the
// lanes are added up as a tree: one order on every machine.
template <class Sum = float, class F>
[[nodiscard]] Sum simd_sum(int64_t n, const F& term) {
  Sum lanes[kSumLanes] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
#pragma GCC ivdep
    for (int64_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += term(i + lane);
  }
#pragma GCC ivdep
  for (int64_t lane = 0; lane < n - i; ++lane) lanes[lane] += term(i + lane);
  for (int64_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// Returns the sum of a[i] b[i] over n elements, fp32 or bf16, in the order of simd_sum().
template <class A, class B>
[[nodiscard, gnu::always_inline]] inline float simd_dot(const A* a, const B* b, int64_t n) {
  return simd_sum(
      n, [a, b](int64_t i) { return static_cast<float>(a[i]) * static_cast<float>(b[i]); });
}

// Returns the largest of term(0) .. term(n - 1), -infinity for n = 0. NaN terms are passed over.
template <class F>
[[nodiscard]] float simd_max(int64_t n, const F& term) {
  const auto larger = [](float x, float so_far) { return x > so_far ? x : so_far; };
  float lanes[kSumLanes];
  for (float& lane : lanes) lane = -__builtin_inff();
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
#pragma GCC ivdep
    for (int64_t lane = 0; lane < kSumLanes; ++lane) {
      lanes[lane] = larger(term(i + lane), lanes[lane]);
    }
  }
#pragma GCC ivdep
  for (int64_t lane = 0; lane < n - i; ++lane) {
    lanes[lane] = larger(term(i + lane), lanes[lane]);
  }
  for (int64_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) {
      lanes[lane] = larger(lanes[lane + half], lanes[lane]);
    }
  }
  return lanes[0];
}

}  // namespace penstock
