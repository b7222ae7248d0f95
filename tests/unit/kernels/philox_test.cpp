// tests/unit/kernels/philox_test.cpp -- Philox against the published vectors of Random123, the
// vectorised words and masks against Philox, and the roundings of bfloat16.
#include "kernels/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/cpu/loops/random_mask.h"
#include "kernels/cpu/loops/simd_math.h"

namespace penstock {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({{ones, ones}, {ones, ones}}, ~uint64_t{0}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // The digits of pi, counter first.
  EXPECT_EQ(philox({{0xa4093822, 0x299f31d0}, {0x13198a2e, 0x03707344}}, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, SixteenCountersAtATimeAreTheSame) {
  const RandomStream stream{{0xa4093822, 0x299f31d0}, {0x13198a2e, 0x03707344}};
  for (const uint64_t first : {uint64_t{0}, uint64_t{5}, uint64_t{0xfffffff9}, ~uint64_t{0} - 3}) {
    uint32_t words[kPhiloxWords];
    philox_words(stream, first, words);
    for (uint64_t i = 0; i < 16; ++i) {
      const Words expected = philox(stream, first + i);
      for (size_t w = 0; w < 4; ++w) EXPECT_EQ(words[4 * i + w], expected[w]) << first << " " << i;
    }
  }
}

TEST(RandomMask, AnyRangeOfElements) {
  const RandomStream stream = random_stream(1, 2, 3, 4);
  const RandomMask mask(0.25F, stream);
  for (const int64_t first : {0, 1, 2, 3, 62, 1000003}) {
    for (const int64_t n : {1, 5, 64, 255, 256}) {
      std::vector<float> factors(static_cast<size_t>(n) + 1, -1.0F);
      mask.fill(factors.data(), first, n);
      for (int64_t i = 0; i < n; ++i) {
        const auto e = static_cast<uint64_t>(first + i);
        const float u = uniform_of(philox(stream, e / 4)[e % 4]);
        ASSERT_EQ(factors[static_cast<size_t>(i)], u >= 0.25F ? 1.0F / 0.75F : 0.0F) << e;
      }
      EXPECT_EQ(factors.back(), -1.0F);
    }
  }
}

TEST(RandomStream, EveryNameAndIndexCounts) {
  const RandomStream base = random_stream(1, hash_name("blocks.0"), 2, 3);
  const auto differs = [&](const RandomStream& other) {
    return philox(base, 0) != philox(other, 0);
  };
  EXPECT_FALSE(differs(random_stream(1, hash_name("blocks.0"), 2, 3)));
  EXPECT_TRUE(differs(random_stream(2, hash_name("blocks.0"), 2, 3)));
  EXPECT_TRUE(differs(random_stream(1, hash_name("blocks.1"), 2, 3)));
  EXPECT_TRUE(differs(random_stream(1, hash_name("blocks.0"), 3, 2)));
  EXPECT_TRUE(differs(random_stream(1, hash_name("blocks.0"), 2, 4)));
}

TEST(Uniform, IsBelowOneAndFromZero) {
  EXPECT_EQ(uniform_of(0), 0.0F);
  EXPECT_LT(uniform_of(0xffffffff), 1.0F);
  EXPECT_EQ(uniform_of(0x80000000), 0.5F);
}

float rounded(float x) {
  return static_cast<float>(bfloat16(x));
}

TEST(Bfloat16, RoundsToNearestEven) {
  EXPECT_EQ(rounded(1.0F), 1.0F);
  EXPECT_EQ(rounded(1.0F + 0x1p-9F), 1.0F);                      // below the half
  EXPECT_EQ(rounded(1.0F + 0x1p-8F), 1.0F);                      // the half, to even
  EXPECT_EQ(rounded(1.0F + 0x1p-7F + 0x1p-8F), 1.0F + 0x1p-6F);  // the half, to even, upwards
  EXPECT_EQ(rounded(1.0F + 0x1p-8F + 0x1p-20F), 1.0F + 0x1p-7F);
  EXPECT_EQ(rounded(-1.0F - 0x1p-8F - 0x1p-20F), -1.0F - 0x1p-7F);
}

TEST(Bfloat16, KeepsWhatIsNotANumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(infinity), infinity);
  EXPECT_EQ(rounded(-infinity), -infinity);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), infinity);
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  // The payload of this NaN is in the lower half only: cut off, it would be an infinity.
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7f800001U))));
  EXPECT_TRUE(std::signbit(rounded(-0.0F)));
}

TEST(SimdExp, IsAccurateOverItsRange) {
  for (float x = -87.3F; x <= 88.3F; x += 0.0137F) {
    const double expected = std::exp(double{x});
    const double error = std::abs(double{simd_exp(x)} - expected) / expected;
    ASSERT_TRUE(error <= 2.4e-7) << x << ": " << error;
  }
  EXPECT_EQ(simd_exp(0.0F), 1.0F);
}

TEST(SimdTanh, IsAccurateOverItsRange) {
  for (float x = -12.0F; x <= 12.0F; x += 0.0013F) {
    const double expected = std::tanh(double{x});
    const double error = std::abs(double{simd_tanh(x)} - expected) / std::abs(expected);
    ASSERT_TRUE(error <= 2.4e-7) << x << ": " << error;
  }
  EXPECT_EQ(simd_tanh(0.0F), 0.0F);
  EXPECT_EQ(simd_tanh(1e9F), 1.0F);
  EXPECT_EQ(simd_tanh(-1e9F), -1.0F);
  EXPECT_TRUE(std::isnan(simd_tanh(std::numeric_limits<float>::quiet_NaN())));
}

TEST(SimdExp, Ends) {
  EXPECT_EQ(simd_exp(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_EQ(simd_exp(-200.0F), 0.0F);
  EXPECT_TRUE(std::isnan(simd_exp(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_GT(simd_exp(1e9F), 2e38F);
}

}  // namespace
}  // namespace penstock
