// What becomes of sums over targets, and labels among the five best.
#include "runtime/engine/training/metrics.h"

#include <gtest/gtest.h>

#include "runtime/engine/training/evaluation/evaluation.h"

namespace penstock {
namespace {

TEST(LossSumsOfAPass, AreDividedByTheirTargets) {
  const LossSums sums{.loss = 6.0, .correct = 1.0, .targets = 4.0};
  EXPECT_EQ(sums.mean(), 1.5);
  EXPECT_EQ(sums.accuracy(), 0.25);
  EXPECT_FALSE(sums.auxiliary_mean());
  const LossSums heads{.auxiliary_loss = 9.0, .auxiliary_targets = 6.0};
  EXPECT_EQ(heads.auxiliary_mean(), 1.5);
  EXPECT_EQ(heads.mean(), 0.0) << "nothing to divide";
  EXPECT_EQ(heads.accuracy(), 0.0);
}

TEST(AmongFive, CountsLargerLogitsAndTheFirstOfEquals) {
  const std::vector<float> logits = {
      6, 5, 4, 3, 2, 1,  // the sixth is the least
      1, 1, 1, 1, 1, 1,  // of equals the sixth comes last
      0, 9, 0, 0, 0, 0,
  };
  EXPECT_EQ(count_among_five(logits, std::vector<int32_t>{4, 4, 1}), 3);
  EXPECT_EQ(count_among_five(logits, std::vector<int32_t>{5, 5, 5}), 0);
  EXPECT_EQ(count_among_five(logits, std::vector<int32_t>{0, -1, 4}), 2) << "one counts nothing";
  EXPECT_EQ(count_among_five({}, {}), 0);
}

}  // namespace
}  // namespace penstock
