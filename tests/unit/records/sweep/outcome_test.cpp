// What a point's directory tells: how far it is, and which of its steps are measured.
#include "runtime/records/sweep/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/records/run_directory/lock/lock_holder.h"
#include "runtime/records/sweep/repeats.h"
#include "runtime/records/telemetry/json_records.h"
#include "tests/unit/records/run_directory/folder.h"

namespace penstock {
namespace {

std::string point_line(int64_t step, int64_t attempt, double step_ms) {
  const StepRecord record{
      .step = step, .attempt = attempt, .loss = 2.5, .samples = 8, .step_ms = step_ms};
  return json_line(record, false) + "\n";
}

const SweepPoint kPoint{.name = "one", .steps = 4};

TEST(SweepOutcome, TheFirstStepsOfEveryAttemptAreNotMeasured) {
  History history;
  for (const double ms : {100.0, 1.0, 2.0, 3.0}) history.steps.push_back({.step_ms = ms});
  for (const double ms : {200.0, 4.0, 5.0}) {
    history.steps.push_back({.attempt = 2, .step_ms = ms});
  }
  const auto times = steady_times(history, 1);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->count, 5U);
  EXPECT_EQ(times->median, 3.0);
  EXPECT_EQ(times->lower, 2.0);
  EXPECT_EQ(times->upper, 4.0);
  EXPECT_EQ(steady_times(history, 100)->count, 4U);  // no more than half of each
  EXPECT_EQ(steady_times(history, 100)->median, 3.5) << "of 2, 3, 4 and 5";
  EXPECT_FALSE(steady_times({}, 1));
}

TEST(SweepOutcome, APointTellsHowFarItIs) {
  const RunFolder folder;
  const auto state = [&] { return outcome_of(folder.path(), kPoint, 1, 0).state; };
  EXPECT_EQ(state(), PointState::Waiting);
  folder.write("points/one/submitted.txt", "job 17\n");
  EXPECT_EQ(state(), PointState::Submitted);
  folder.write("points/one/metrics.jsonl", point_line(1, 1, 9) + point_line(2, 1, 3));
  EXPECT_EQ(state(), PointState::Interrupted);
  folder.write("points/one/failure.txt", "exit code 6: not finite\nmore\n");
  const Outcome failed = outcome_of(folder.path(), kPoint, 1, 0);
  EXPECT_EQ(failed.state, PointState::Failed);
  EXPECT_EQ(failed.reason, "exit code 6: not finite");
  EXPECT_EQ(failed.steps, 2);
  folder.write("points/one/run.lock", encode(this_holder()));
  EXPECT_EQ(state(), PointState::Running);
}

TEST(SweepOutcome, APointIsFinishedWithItsLastStepAndNotBefore) {
  const RunFolder folder;
  folder.append("points/one/metrics.jsonl", point_line(3, 1, 1));
  RunSummary summary;
  summary.final_loss = 2.5;
  summary.bubble_measured = 0.25;
  summary.ranks_detail.resize(2);
  summary.ranks_detail[1].memory.total_peak = 77;
  folder.write("points/one/summary.json", json_text(summary));
  EXPECT_EQ(outcome_of(folder.path(), kPoint, 1, 0).state, PointState::Interrupted);
  folder.append("points/one/metrics.jsonl", point_line(4, 1, 3));
  const Outcome outcome = outcome_of(folder.path(), kPoint, 1, 0);
  EXPECT_EQ(outcome.state, PointState::Finished);
  EXPECT_EQ(outcome.peak_bytes, 77);
  EXPECT_EQ(outcome.bubble, 0.25);
  EXPECT_EQ(outcome.loss, 2.5);
  EXPECT_EQ(outcome_of(folder.path(), kPoint, 2, 0).state, PointState::Waiting) << "its repeat";
}

// Tokens are of the steps whose times count: the first step has tokens, and is none of them.
TEST(SweepOutcome, TokensAreOfTheSameStepsAsTimes) {
  const RunFolder folder;
  const auto line = [](int64_t step, double step_ms, int64_t tokens) {
    const StepRecord record{.step = step,
                            .attempt = 1,
                            .loss = 2.5,
                            .samples = 8,
                            .tokens = tokens,
                            .step_ms = step_ms};
    return json_line(record, true) + "\n";
  };
  folder.write("points/one/metrics.jsonl",
               line(1, 1000, 9000) + line(2, 10, 40) + line(3, 10, 80) + line(4, 40, 40));
  const Outcome outcome = outcome_of(folder.path(), kPoint, 1, 1);
  ASSERT_TRUE(outcome.tokens);
  EXPECT_DOUBLE_EQ(*outcome.tokens, (40 + 80 + 40) / 3.0);
  EXPECT_EQ(outcome.step_ms->median, 10);
}

Outcome run_of(double step_ms, double loss) {
  return {.state = PointState::Finished,
          .steps = 4,
          .step_ms = times_of({step_ms, step_ms}),
          .loss = loss,
          .peak_bytes = static_cast<int64_t>(step_ms)};
}

TEST(SweepRepeats, HaveMeanDeviationAndQuartilesOverTheRuns) {
  const Outcome all = combined({run_of(10, 1), run_of(40, 1.5), run_of(16, 2)});
  EXPECT_EQ(all.state, PointState::Finished);
  EXPECT_EQ(all.step_ms->median, 16);
  EXPECT_EQ(all.step_ms->lower, 13);
  EXPECT_EQ(all.step_ms->upper, 28);
  EXPECT_DOUBLE_EQ(all.step_ms->mean, 22);
  EXPECT_DOUBLE_EQ(all.step_ms->deviation, std::sqrt((144 + 324 + 36) / 2.0));
  EXPECT_EQ(all.step_ms->count, 6U);
  EXPECT_EQ(all.loss, 1.5);
  EXPECT_EQ(all.loss_deviation, 0.5);
  EXPECT_EQ(all.peak_bytes, 40);
}

// Three times this loss, rounded, is no multiple of it by three, seven, ...
TEST(SweepRepeats, OfOneLossHaveThatLossToTheBit) {
  for (const size_t count : {2, 3, 5, 6, 7, 49}) {
    const Outcome all = combined(std::vector<Outcome>(count, run_of(1, 0.1)));
    EXPECT_EQ(all.loss, 0.1) << count;
    EXPECT_EQ(all.loss_deviation, 0.0) << count;
  }
}

TEST(SweepRepeats, TellWhatIsMostWorthTellingAndCountWhatFinished) {
  const Outcome failed{.state = PointState::Failed, .reason = "no", .steps = 2, .loss = 9};
  const Outcome all = combined({run_of(10, 1), failed, {}});
  EXPECT_EQ(all.state, PointState::Failed);
  EXPECT_EQ(all.reason, "no");
  EXPECT_EQ(all.steps, 2);
  EXPECT_EQ(all.loss, 1);
  EXPECT_EQ(all.step_ms->median, 10);
  EXPECT_EQ(combined({failed, {.state = PointState::Running}}).state, PointState::Running);
  EXPECT_EQ(combined({run_of(1, 1), {}}).state, PointState::Waiting);
}

}  // namespace
}  // namespace penstock
