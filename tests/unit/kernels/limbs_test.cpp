// Doubles that are added up as floats.
#include "kernels/ops/limbs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/ops/norm_sums.h"

namespace penstock {
namespace {

double sum_of(const Limbs& limbs) {
  return value_of(limbs.high, limbs.middle, limbs.low);
}

TEST(Limbs, KeepADoubleTo46Bits) {
  double value = 1.0 / 3.0;
  for (int i = 0; i < 200; ++i) {
    for (double signed_value : {value, -value}) {
      EXPECT_NEAR(sum_of(limbs_of(signed_value)), signed_value, std::ldexp(value, -46)) << i;
    }
    value *= i % 2 == 0 ? 7.1 : 0.19;
  }
  EXPECT_EQ(sum_of(limbs_of(0.0)), 0.0);
  EXPECT_EQ(sum_of(limbs_of(1e300)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of(limbs_of(1e-300)), 0.0);
  EXPECT_TRUE(std::isnan(sum_of(limbs_of(std::numeric_limits<double>::quiet_NaN()))));
}

// The sum is made like those of micro-batches and replicas. The same numbers in doubles are the
// yardstick.
TEST(Limbs, AddUpToASumOfDoubles) {
  Limbs total{};
  double expected = 0.0;
  for (int i = 0; i < 4096; ++i) {
    const double value = 1e6 * (1.0 + 1e-3 * std::sin(i));
    const Limbs limbs = limbs_of(value);
    total.high += limbs.high;
    total.middle += limbs.middle;
    total.low += limbs.low;
    expected += value;
  }
  EXPECT_NEAR(sum_of(total), expected, 1e-12 * expected);
}

TEST(NormSums, OfOneNumberHaveNoVariance) {
  float sums[kNormSums];
  write_norm_sums(sums, 1, 3.1, 3.1 * 3.1);
  const Moments found = norm_moments(sums, 1, 1.0);
  EXPECT_EQ(found.mean, 3.1F);
  EXPECT_NEAR(found.variance, 0.0F, 1e-12F);
}

}  // namespace
}  // namespace penstock
