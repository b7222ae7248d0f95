// Medians and quantiles of step times, of few steps, too.
#include "runtime/records/telemetry/quantile.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Quantile, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(quantile({90.0, 10.0, 20.0, 40.0}, 0.5), 30.0);
  EXPECT_EQ(quantile({8.0, 4.0}, 0.5), 6.0);
  EXPECT_EQ(quantile({3.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_EQ(quantile({7.0}, 0.5), 7.0);
  EXPECT_EQ(quantile({}, 0.5), 0.0);
}

TEST(Quantile, LiesBetweenTheRanksNextToIt) {
  EXPECT_EQ(quantile({4.0, 3.0, 2.0, 1.0, 0.0}, 0.25), 1.0);
  EXPECT_DOUBLE_EQ(quantile({0.0, 10.0, 20.0}, 0.95), 19.0);
  EXPECT_EQ(quantile({2.0, 1.0}, 0.0), 1.0);
  EXPECT_EQ(quantile({2.0, 1.0}, 1.0), 2.0);
}

}  // namespace
}  // namespace penstock
