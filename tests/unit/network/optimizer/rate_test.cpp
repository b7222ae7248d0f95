// The learning rate against values worked out by hand.
#include "runtime/network/optimizer/rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock {
namespace {

OptimizerConfig with(const char* schedule, int64_t warmup) {
  OptimizerConfig config;
  config.schedule = schedule;
  config.learning_rate = 0.8;
  config.warmup_steps = warmup;
  return config;
}

TEST(LearningRate, WarmsUpLinearlyFromZeroAndThenStays) {
  const OptimizerConfig config = with("constant", 4);
  EXPECT_DOUBLE_EQ(learning_rate(config, 1, 100), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(config, 3, 100), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate(config, 4, 100), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(config, 99, 100), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(with("constant", 0), 1, 100), 0.8);
}

TEST(LearningRate, CosineFallsFromThePeakToTheMinimumShare) {
  OptimizerConfig config = with("cosine", 10);
  config.minimum_rate = 0.1;
  EXPECT_DOUBLE_EQ(learning_rate(config, 5, 110), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(config, 10, 110), 0.8);
  EXPECT_NEAR(learning_rate(config, 60, 110), 0.8 * (0.1 + 0.9 * 0.5), 1e-15);
  EXPECT_NEAR(learning_rate(config, 35, 110), 0.8 * (0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2), 1e-15);
  EXPECT_NEAR(learning_rate(config, 110, 110), 0.08, 1e-15);
  EXPECT_NEAR(learning_rate(config, 500, 110), 0.08, 1e-15);
}

TEST(LearningRate, CosineEndsAtDecayStepsWhenGiven) {
  OptimizerConfig config = with("cosine", 0);
  config.decay_steps = 50;
  EXPECT_NEAR(learning_rate(config, 25, 1000), 0.4, 1e-15);
  EXPECT_NEAR(learning_rate(config, 50, 1000), 0.0, 1e-15);
}

TEST(LearningRate, CosineWithoutRoomAfterTheWarmUpIsStillDefined) {
  const OptimizerConfig config = with("cosine", 10);
  EXPECT_DOUBLE_EQ(learning_rate(config, 10, 10), 0.8);
  EXPECT_NEAR(learning_rate(config, 11, 10), 0.0, 1e-15);
}

// What transformers' get_linear_schedule_with_warmup gives, but for its warm-up, which starts a
// step earlier at 0.
TEST(LearningRate, LinearFallsFromThePeakToTheMinimumShare) {
  OptimizerConfig config = with("linear", 10);
  EXPECT_DOUBLE_EQ(learning_rate(config, 10, 110), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(config, 35, 110), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate(config, 110, 110), 0.0);
  config.minimum_rate = 0.5;
  config.decay_steps = 60;
  EXPECT_DOUBLE_EQ(learning_rate(config, 35, 110), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate(config, 60, 110), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(config, 110, 110), 0.4);
}

TEST(LearningRate, WsdStaysAndFallsOverTheLastSteps) {
  OptimizerConfig config = with("wsd", 10);
  EXPECT_DOUBLE_EQ(learning_rate(config, 5, 200), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(config, 180, 200), 0.8) << "a tenth is 20 steps";
  EXPECT_DOUBLE_EQ(learning_rate(config, 190, 200), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(config, 200, 200), 0.0);
  config.decay_steps = 40;
  config.minimum_rate = 0.25;
  EXPECT_DOUBLE_EQ(learning_rate(config, 160, 200), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(config, 180, 200), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(config, 200, 200), 0.2);
  config.decay_steps = 500;  // more than there are after the warm-up
  EXPECT_DOUBLE_EQ(learning_rate(config, 10, 200), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(config, 105, 200), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(with("wsd", 0), 1, 1), 0.0);
}

TEST(LearningRate, SaysWhereADecayIsNotAsLongAsItWasAskedFor) {
  const auto note = [](const char* schedule, int64_t decay_steps) {
    OptimizerConfig config = with(schedule, 10);
    config.decay_steps = decay_steps;
    return rate_note(config, 100);
  };
  EXPECT_EQ(note("wsd", 90), "");
  EXPECT_EQ(note("wsd", 0), "");
  EXPECT_EQ(note("wsd", 91),
            "note: optimizer.decay_steps = 91 of schedule wsd is more than the 90 steps after the "
            "warm-up: the rate falls over all of these");
  for (const char* schedule : {"cosine", "linear"}) {
    EXPECT_EQ(note(schedule, 100), "");
    EXPECT_EQ(note(schedule, 11), "");
    EXPECT_NE(note(schedule, 10).find("the warm-up ends after step 10"), std::string::npos);
    EXPECT_NE(note(schedule, 101).find("after the last step, 100"), std::string::npos);
  }
  EXPECT_EQ(note("exponential", 500), "");
}

TEST(LearningRate, SaysWhereTheWarmUpLeavesNoStep) {
  for (const char* schedule : {"linear", "cosine", "wsd", "inverse-sqrt"}) {
    const std::string text = std::string(" steps to schedule ") + schedule;
    EXPECT_EQ(rate_note(with(schedule, 99), 100), "");
    EXPECT_EQ(rate_note(with(schedule, 100), 100),
              "note: optimizer.warmup_steps = 100 leaves none of the 100" + text);
    EXPECT_EQ(rate_note(with(schedule, 101), 100),
              "note: optimizer.warmup_steps = 101 leaves none of the 100" + text +
                  ": the rate does not reach optimizer.learning_rate");
  }
  EXPECT_EQ(rate_note(with("constant", 100), 100), "");
  EXPECT_NE(rate_note(with("constant", 101), 100), "");
}

TEST(LearningRate, InverseSqrtMeetsTheWarmUp) {
  const OptimizerConfig config = with("inverse-sqrt", 16);
  EXPECT_DOUBLE_EQ(learning_rate(config, 8, 1), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(config, 16, 1), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(config, 64, 1), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(with("inverse-sqrt", 0), 1, 1), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(with("inverse-sqrt", 0), 4, 1), 0.4);
}

TEST(LearningRate, ExponentialLosesOneFactorPerPeriod) {
  OptimizerConfig config = with("exponential", 2);
  config.decay_steps = 10;
  config.decay_rate = 0.25;
  EXPECT_DOUBLE_EQ(learning_rate(config, 2, 1), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(config, 7, 1), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(config, 12, 1), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(config, 22, 1), 0.05);
}

}  // namespace
}  // namespace penstock
