#include "runtime/records/report/reading/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/error.h"
#include "runtime/records/telemetry/json_records.h"

namespace penstock {
namespace {

using testing::HasSubstr;

History history_of(const std::vector<std::string>& lines) {
  HistoryReader reader;
  for (size_t i = 0; i < lines.size(); ++i)
    reader.add(lines[i], "m, line " + std::to_string(i + 1));
  return reader.finish();
}

std::string step_line(int64_t step, int64_t attempt, double loss) {
  return json_line(
      StepRecord{.step = step, .attempt = attempt, .loss = loss, .samples = 8, .step_ms = 4},
      false);
}

// The first attempt did five steps and failed; the second went on from step 3.
TEST(Histories, OfTwoLinesOfAStepTheHigherAttemptCounts) {
  const History history =
      history_of({step_line(1, 1, 9), step_line(2, 1, 8), step_line(3, 1, 7), step_line(4, 1, 66),
                  step_line(5, 1, 55), step_line(4, 2, 6), step_line(5, 2, 5), step_line(6, 2, 4)});
  std::vector<double> losses;
  for (const StepPoint& point : history.steps) losses.push_back(point.loss);
  EXPECT_EQ(losses, (std::vector<double>{9, 8, 7, 6, 5, 4}));
  ASSERT_EQ(history.attempts.size(), 2U);
  EXPECT_EQ(history.attempts[0].last_step, 5);
  EXPECT_EQ(history.attempts[0].replaced, 2);
  EXPECT_EQ(history.attempts[1].first_step, 4);
  EXPECT_EQ(history.attempts[1].replaced, 0);
  EXPECT_EQ(history.steps[0].samples_per_s, 2000);
}

TEST(Histories, TellEvaluationsFromSteps) {
  EvalRecord eval;
  eval.step = 2;
  eval.loss = 3;
  const std::string early = json_line(eval);
  eval.attempt = 2;
  eval.loss = 4;
  const std::string again = json_line(eval);
  const History history = history_of({early, step_line(2, 1, 8), again, ""});
  ASSERT_EQ(history.evals.size(), 1U);
  EXPECT_EQ(history.evals[0].loss, 4);
  EXPECT_EQ(history.steps.size(), 1U);
}

TEST(Histories, HaveTheFullestExpertOfAllMixtures) {
  StepRecord step{.step = 1, .loss = 1, .samples = 8, .step_ms = 4};
  step.experts = {{.layer = "a", .rows = {1, 3}}, {.layer = "b", .rows = {0, 8}}};
  const History history = history_of({json_line(step, false), step_line(2, 1, 8)});
  EXPECT_EQ(history.steps[0].expert_load, 2.0);
  EXPECT_EQ(history.steps[0].idle_experts, 1.0);
  EXPECT_TRUE(std::isnan(history.steps[1].expert_load));
  EXPECT_TRUE(std::isnan(history.steps[1].idle_experts));
}

TEST(Histories, KeepWhatIsNotFiniteAsNoNumber) {
  const History history = history_of({step_line(1, 1, std::nan(""))});
  EXPECT_TRUE(std::isnan(history.steps.at(0).loss));
}

TEST(Histories, NameTheLineThatIsDamaged) {
  for (const std::string damaged :
       {"{\"step\": 2, \"lo", "[2]", "{\"loss\": 1}", "{\"step\": -1}",
        "{\"step\": 2, \"loss\": \"low\"}", "{\"step\": 2, \"step\": 2}"}) {
    try {
      (void)history_of({step_line(1, 1, 9), damaged});
      ADD_FAILURE() << damaged;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Data) << damaged;
      EXPECT_THAT(error.what(), HasSubstr("m, line 2"));
    }
  }
}

}  // namespace
}  // namespace penstock
