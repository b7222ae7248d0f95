// Ranks that are named as slow: those that compute longer than predicted and than the others, for
// long.
#include "runtime/engine/measurements/slow_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

// How many windows pass until a rank is named, and which one; {-1, 40}: none is.
std::pair<int, int> first_named(SlowRanks& ranks, const std::vector<double>& busy_s) {
  for (int window = 1; window <= 40; ++window) {
    const auto named = ranks.see(busy_s);
    if (!named.empty()) return {named.front().rank, window};
  }
  return {-1, 40};
}

using testing::Pair;

TEST(SlowRanksOf, AStageThatIsSlowForLongIsNamedOnce) {
  SlowRanks ranks({.positions = 4}, {1.0, 2.0, 2.0, 1.0});
  // Everything takes 1.2 times as long as predicted, stage 2 twice that.
  const std::vector<double> busy_s = {1.2, 2.4, 4.8, 1.2};
  EXPECT_THAT(first_named(ranks, busy_s), Pair(2, SlowRanks::kWindows));
  EXPECT_THAT(first_named(ranks, busy_s), Pair(-1, 40)) << "once is enough";
}

TEST(SlowRanksOf, NobodyIsSlowWhoIsAsSlowAsTheOthersOrNotForLong) {
  SlowRanks ranks({.positions = 3}, {1.0, 1.0, 1.0});
  EXPECT_THAT(first_named(ranks, {3.0, 3.3, 3.1}), Pair(-1, 40)) << "the forecast is wrong";
  EXPECT_THAT(first_named(ranks, {0.5, 1.2, 0.5}), Pair(-1, 40)) << "nearly as predicted";
  for (int i = 0; i < 30; ++i) {
    const double second = i % SlowRanks::kWindows == 0 ? 1.0 : 2.0;
    EXPECT_TRUE(ranks.see(std::vector<double>{1.0, second, 1.0}).empty()) << i;
  }
}

TEST(SlowRanksOf, ReplicasOfTheSameStageAreTheBetterMeasure) {
  const Grid grid{.positions = 2, .replicas = 2};
  SlowRanks ranks(grid, {1.0, 1.0});
  EXPECT_THAT(first_named(ranks, {1.0, 3.0, 1.0, 3.0}), Pair(-1, 40)) << "the stage is what it is";
  EXPECT_THAT(first_named(ranks, {1.0, 1.0, 1.0, 3.0}), Pair(3, SlowRanks::kWindows));
}

TEST(SlowRanksOf, TheLineNamesRankHostAndBothRatios) {
  EXPECT_EQ(describe({.rank = 3, .of_forecast = 2.13, .others = 1.04}, "n7"),
            "rank 3 (host n7) has computed 2.1 times as long as predicted for 16 steps, the other "
            "ranks 1.0 times: is its processor slower, shared or throttled?");
}

}  // namespace
}  // namespace penstock
