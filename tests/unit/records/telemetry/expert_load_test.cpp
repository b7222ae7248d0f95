// How uneven a mixture's load is: of a step, over the steps of an attempt, and in one line.
#include "runtime/records/telemetry/experts/expert_load.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(ExpertLoad, IsToldAsMultiplesOfTheMean) {
  const ExpertLoad load{.layer = "blocks.1.experts", .rows = {1, 0, 6, 1}};
  EXPECT_EQ(load.largest(), 3.0);
  EXPECT_EQ(load.least(), 0.0);
  EXPECT_EQ(load.idle(), 1);
  const ExpertLoad even{.rows = {5, 5}};
  EXPECT_EQ(even.largest(), 1.0);
  EXPECT_EQ(even.least(), 1.0);
  EXPECT_EQ(even.idle(), 0);
}

TEST(ExpertLoad, OfNoRowsAtAllIsZero) {
  const ExpertLoad none{.rows = {0, 0}};
  EXPECT_EQ(none.largest(), 0.0);
  EXPECT_EQ(none.idle(), 2);
  EXPECT_EQ(fullest({}), nullptr);
}

TEST(ExpertHistory, HasTheLastStepTheMeanAndTheWorst) {
  std::vector<ExpertHistory> histories;
  const auto step = [&](int64_t number, std::vector<int64_t> first, std::vector<int64_t> second) {
    const std::vector<ExpertLoad> loads = {{.layer = "a.experts", .rows = std::move(first)},
                                           {.layer = "b.experts", .rows = std::move(second)}};
    add_loads(histories, number, loads);
  };
  step(5, {2, 2}, {2, 2});
  step(6, {4, 0}, {3, 1});
  step(7, {2, 2}, {3, 1});
  ASSERT_EQ(histories.size(), 2U);
  EXPECT_EQ(histories[0].largest_mean(), 4.0 / 3.0);
  EXPECT_EQ(histories[0].largest_of_all, 2.0);
  EXPECT_EQ(histories[0].at_step, 6);
  EXPECT_EQ(histories[1].largest_of_all, 1.5);
  EXPECT_EQ(histories[1].at_step, 6);
  EXPECT_EQ(text_of(histories),
            "fullest 1.50 x the mean in the last step (b.experts), 2.00 x in step 6 (a.experts); "
            "without a token in the last step: 0 of 4");
  step(8, {0, 4}, {3, 1});
  EXPECT_EQ(text_of(histories),
            "fullest 2.00 x the mean in the last step (a.experts), 2.00 x in step 6 (a.experts); "
            "without a token in the last step: 1 of 4");
  EXPECT_EQ(text_of({}), "");
}

}  // namespace
}  // namespace penstock
