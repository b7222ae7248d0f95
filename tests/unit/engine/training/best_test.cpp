// The best evaluation, and when patience is over.
#include "runtime/engine/training/evaluation/best.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/error.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The best of evaluations after steps 1, 2, ... with these values.
BestEvaluation best_of(const std::string& metric, const std::vector<double>& values) {
  BestEvaluation best;
  for (size_t i = 0; i < values.size(); ++i) {
    EvalRecord record{
        .step = static_cast<int64_t>(i) + 1, .loss = values[i], .accuracy = {}, .samples = 7};
    if (metric == "accuracy") {
      record.loss = 1.0;
      record.accuracy = values[i];
    }
    take_evaluation(metric, record, best);
  }
  return best;
}

TEST(Best, IsTheLowestLossOrTheHighestAccuracy) {
  const std::vector<double> values = {0.5, 0.25, 0.75, 0.5};
  EXPECT_EQ(best_of("loss", values),
            (BestEvaluation{.step = 2, .value = 0.25, .since = 2, .samples = 7}));
  EXPECT_EQ(best_of("accuracy", values),
            (BestEvaluation{.step = 3, .value = 0.75, .since = 1, .samples = 7}));
  EXPECT_EQ(best_of("none", values), BestEvaluation{});
}

TEST(Best, IsTheEarlierOfEqualOnes) {
  EXPECT_EQ(best_of("loss", {0.5, 0.5}),
            (BestEvaluation{.step = 1, .value = 0.5, .since = 1, .samples = 7}));
  EXPECT_EQ(best_of("accuracy", {0.5, 0.5}).step, 1);
}

TEST(Best, IsNeverOneThatIsNotFinite) {
  EXPECT_EQ(best_of("loss", {kNoNumber, -kInfinity}), (BestEvaluation{.since = 2}));
  EXPECT_EQ(best_of("loss", {kNoNumber, 0.5, kNoNumber}),
            (BestEvaluation{.step = 2, .value = 0.5, .since = 1, .samples = 7}));
  EXPECT_EQ(best_of("accuracy", {kInfinity}).step, 0);
  EXPECT_EQ(best_of("loss", {-1.0}).step, 1) << "the first one is better than none";
  EXPECT_EQ(best_of("accuracy", {0.0}).step, 1);
  BestEvaluation best;
  take_evaluation("accuracy", {.step = 1, .loss = kNoNumber, .accuracy = 0.7}, best);
  EXPECT_EQ(best, (BestEvaluation{.since = 1})) << "logits that are no numbers have an accuracy";
}

TEST(Patience, IsOverAfterSoManyEvaluations) {
  RunConfig run;
  EXPECT_FALSE(patience_is_over(run, {.step = 1, .since = 99})) << "0: never";
  run.patience = 2;
  EXPECT_FALSE(patience_is_over(run, {.step = 1, .since = 1}));
  EXPECT_TRUE(patience_is_over(run, {.step = 1, .since = 2}));
  EXPECT_TRUE(patience_is_over(run, {.since = 2})) << "none was finite";
}

TEST(Patience, CountsTheEvaluationsOfItsMetricAlone) {
  Config config;
  config.run.patience = 2;
  config.checkpoint.best = "loss";
  CheckpointState saved;
  saved.best = {.step = 1, .since = 2};
  EXPECT_FALSE(patience_is_over(config, saved));
  saved.best_metric = "loss";
  EXPECT_TRUE(patience_is_over(config, saved));
  config.checkpoint.best = "accuracy";
  EXPECT_FALSE(patience_is_over(config, saved));
}

std::string refusal_of(const Config& config, int64_t validation_samples, bool is_classifier) {
  try {
    check_best(config, validation_samples, is_classifier);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_EQ(error.scope(), ErrorScope::EveryRank);
    return error.what();
  }
  return "";
}

TEST(Best, IsRefusedWhereEvaluationsDoNotTellIt) {
  Config config;
  EXPECT_EQ(refusal_of(config, 0, false), "");
  config.run.patience = 3;
  EXPECT_THAT(refusal_of(config, 10, false), HasSubstr("give checkpoint.best = \"loss\""));
  config.checkpoint.best = "loss";
  EXPECT_THAT(refusal_of(config, 10, false), HasSubstr("set run.eval_every"));
  config.run.eval_every = 5;
  EXPECT_EQ(refusal_of(config, 10, false), "");
  EXPECT_THAT(refusal_of(config, 0, false), HasSubstr("set data.validation"));
  config.checkpoint.best = "accuracy";
  EXPECT_THAT(refusal_of(config, 10, false), HasSubstr("is for classifiers"));
  EXPECT_EQ(refusal_of(config, 10, true), "");
}

TEST(Best, IsToldToPeople) {
  EXPECT_EQ(describe("loss", {.step = 120, .value = 1.88124, .since = 3}),
            "no better loss on validation data in 3 evaluations; the best was 1.8812 after step "
            "120");
  EXPECT_EQ(describe("accuracy", {.step = 120, .value = 0.5, .since = 1}),
            "no better accuracy on validation data in 1 evaluation; the best was 50.0 % after step "
            "120");
  EXPECT_EQ(describe("loss", {.since = 2}),
            "no better loss on validation data in 2 evaluations, of which none was finite");
}

}  // namespace
}  // namespace penstock
