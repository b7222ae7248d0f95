// tests/unit/kernels/loops_reference.h -- what the tests of the hand-written CPU loops need beside
// reference.h: tensors at chosen addresses, comparison element by element, and a check that results
// are the same bits at other addresses and thread counts.
#pragma once

#include <gtest/gtest.h>

#include "tests/unit/kernels/reference.h"

namespace penstock {

using Numbers = reference::Doubles;

struct TestCpu : reference::Rig {
  explicit TestCpu(int threads) : Rig(threads) {}

  // Tensors start `shift` elements into a larger block, to have another address and alignment.
  [[nodiscard]] Tensor empty(const Shape& shape, DType dtype, int64_t shift = 0) {
    return Rig::empty({shape.elements() + shift}, dtype).view(shift, shape);
  }
  // Every bit set: NaN in every floating type.
  [[nodiscard]] Tensor poisoned(const Shape& shape, DType dtype, int64_t shift = 0) {
    Tensor t = empty(shape, dtype, shift);
    std::memset(t.raw(), 0xff, t.size_bytes());
    return t;
  }
  [[nodiscard]] Tensor of(const Numbers& numbers, const Shape& shape, DType dtype,
                          int64_t shift = 0) {
    Tensor t = empty(shape, dtype, shift);
    reference::assign(t, [&](size_t i) { return numbers.at(i); });
    return t;
  }
  // Uniform in [low, high), from `seed` alone.
  [[nodiscard]] Tensor random(const Shape& shape, DType dtype, uint64_t seed, double low = -1.0,
                              double high = 1.0, int64_t shift = 0) {
    Tensor t = empty(shape, dtype, shift);
    reference::assign(t, [=](size_t i) {
      return low + (high - low) * static_cast<double>(mix(mix(seed) + i) >> 11) * 0x1p-53;
    });
    return t;
  }
};

[[nodiscard]] inline Numbers doubles_of(const Tensor& t) {
  return reference::values(t);
}

inline constexpr double kTolerance = 2e-5;  // of what is computed in fp32, whatever it is stored in

// Expects |actual - expected| <= tolerance (1 + |expected|) for every element, beside one rounding
// to the type of the result (none where tolerance is 0) and `slack`: for each element, what numbers
// that were rounded on the way may add; empty: nothing. A NaN is never close.
inline void expect_close(const Tensor& actual, const Numbers& expected, double tolerance,
                         const char* what, const Numbers& slack = {}) {
  const Numbers got = doubles_of(actual);
  ASSERT_EQ(got.size(), expected.size()) << what;
  const double rounding = tolerance == 0.0 ? 0.0 : reference::rounding_of(actual.dtype());
  for (size_t i = 0; i < got.size(); ++i) {
    const double size = std::abs(expected[i]);
    const double bound =
        tolerance * (1.0 + size) + rounding * size + (slack.empty() ? 0.0 : slack.at(i));
    ASSERT_TRUE(std::abs(got[i] - expected[i]) <= bound)
        << what << "[" << i << "] is " << got[i] << ", not " << expected[i];
  }
}
inline void expect_close(const Tensor& actual, const Numbers& expected, const char* what) {
  expect_close(actual, expected, kTolerance, what);
}

inline void expect_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                             const char* what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size_bytes(), b[i].size_bytes());
    EXPECT_EQ(std::memcmp(a[i].raw(), b[i].raw(), a[i].size_bytes()), 0)
        << what << ", output " << i;
  }
}

// run(cpu, shift) computes some ops on tensors of `cpu` that start `shift` elements into their
// blocks, and returns the outputs. Expects the same bits when it runs again, at other addresses,
// and with other thread counts.
inline void expect_repeatable(const std::function<std::vector<Tensor>(TestCpu&, int64_t)>& run) {
  TestCpu one(1);
  TestCpu two(2);
  TestCpu three(3);
  const std::vector<Tensor> first = run(one, 0);
  expect_same_bits(first, run(one, 0), "again");
  expect_same_bits(first, run(one, 1), "one element further");
  expect_same_bits(first, run(one, 7), "seven elements further");
  expect_same_bits(first, run(two, 0), "with two threads");
  expect_same_bits(first, run(three, 3), "with three threads");
}

// d loss / d x[i] for every i, by central differences.
[[nodiscard]] inline Numbers central_differences(const std::function<double(const Numbers&)>& loss,
                                                 Numbers x) {
  constexpr double kStep = 1e-5;
  Numbers gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = loss(x);
    x[i] = at - kStep;
    const double below = loss(x);
    x[i] = at;
    gradient[i] = (above - below) / (2.0 * kStep);
  }
  return gradient;
}

[[nodiscard]] inline double dot(const Numbers& a, const Numbers& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

[[nodiscard]] inline Numbers plus(Numbers a, const Numbers& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// A base for TEST_P over the two floating types that ops compute in.
class FloatingTest : public ::testing::TestWithParam<DType> {
 protected:
  [[nodiscard]] Tensor random(const Shape& shape, uint64_t seed, double low = -1.0,
                              double high = 1.0) {
    return cpu_.random(shape, GetParam(), seed, low, high);
  }
  [[nodiscard]] Tensor poisoned(const Shape& shape) { return cpu_.poisoned(shape, GetParam()); }

  TestCpu cpu_{2};
};
inline std::string floating_name(const ::testing::TestParamInfo<DType>& info) {
  return name_of(info.param);
}

}  // namespace penstock
