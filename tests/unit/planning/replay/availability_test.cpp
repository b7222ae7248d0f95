// What failures cost, against Young's and Daly's estimates and a search.
#include "runtime/planning/replay/availability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace penstock {
namespace {

TEST(Availability, WithoutFailuresOnlyCheckpointsCost) {
  EXPECT_DOUBLE_EQ(goodput({.checkpoint_s = 10}, 90), 0.9);
}

// Where a checkpoint is short beside the time between failures, Young's square root.
TEST(Availability, TheBestIntervalIsYoungsForShortCheckpoints) {
  const FailureModel failures{.job_mtbf_s = 1e6, .checkpoint_s = 1};
  EXPECT_NEAR(best_checkpoint_interval(failures) / std::sqrt(2e6), 1, 1e-3);
}

TEST(Availability, NoOtherIntervalDoesMuchBetter) {
  for (const double checkpoint_s : {1.0, 60.0, 600.0}) {
    const FailureModel failures{.job_mtbf_s = 3600, .checkpoint_s = checkpoint_s, .restart_s = 120};
    const double best = goodput(failures, best_checkpoint_interval(failures));
    for (double interval = 1; interval < 20000; interval *= 1.02) {
      EXPECT_LT(goodput(failures, interval), best * 1.0005) << checkpoint_s << " " << interval;
    }
  }
}

TEST(Availability, AskingWithoutFailuresIsRefused) {
  EXPECT_THROW((void)best_checkpoint_interval({.checkpoint_s = 1}), std::invalid_argument);
  EXPECT_THROW((void)best_checkpoint_interval({.job_mtbf_s = 1}), std::invalid_argument);
}

}  // namespace
}  // namespace penstock
