#include "runtime/records/report/reading/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/error.h"
#include "runtime/records/telemetry/json_records.h"
#include "tests/support/temporary_folder.h"

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

TEST(Histories, TellTheLastEvaluationOfARunThatGoesOn) {
  const TemporaryFolder folder;
  const EvalRecord whole{.step = 10,
                         .attempt = 2,
                         .loss = 0.1 + 0.2,
                         .accuracy = 0.75,
                         .samples = 12,
                         .seconds = 1.5,
                         .best = true};
  const EvalRecord early{
      .step = 5, .loss = std::numeric_limits<double>::quiet_NaN(), .accuracy = {}};
  const std::string metrics =
      folder.write("metrics.jsonl", json_line(early) + "\n" + step_line(10, 1, 8) + "\n" +
                                        json_line(EvalRecord{.step = 10, .accuracy = {}}) + "\n" +
                                        json_line(EvalRecord{.step = 15, .accuracy = {}}) + "\n" +
                                        json_line(whole) + "\n" + R"({"eval":true,"step":1)");
  EXPECT_FALSE(last_evaluation(metrics, 4));
  EXPECT_FALSE(last_evaluation(folder / "none", 4));
  const std::optional<EvalRecord> first = last_evaluation(metrics, 9);
  ASSERT_TRUE(first);
  EXPECT_EQ(json_line(*first), json_line(early));
  // Attempt 2 went on from a checkpoint before step 10, so step 15 of attempt 1 is undone.
  EXPECT_EQ(json_line(last_evaluation(metrics, 14).value()), json_line(whole));
  const std::string damaged = folder.write("damaged", "\n{\"eval\":true,\"step\":\"five\"}\n");
  try {
    (void)last_evaluation(damaged, 9);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Data);
    EXPECT_THAT(error.what(), HasSubstr("damaged, line 2: "));
  }
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
