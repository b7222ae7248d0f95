// What a point's directory tells: how far it is, and which of its steps are measured.
#include "runtime/records/sweep/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/records/run_directory/lock/lock_holder.h"
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
  const auto state = [&] { return outcome_of(folder.path(), kPoint, 0).state; };
  EXPECT_EQ(state(), PointState::Waiting);
  folder.write("points/one/submitted.txt", "job 17\n");
  EXPECT_EQ(state(), PointState::Submitted);
  folder.write("points/one/metrics.jsonl", point_line(1, 1, 9) + point_line(2, 1, 3));
  EXPECT_EQ(state(), PointState::Interrupted);
  folder.write("points/one/failure.txt", "exit code 6: not finite\nmore\n");
  const Outcome failed = outcome_of(folder.path(), kPoint, 0);
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
  EXPECT_EQ(outcome_of(folder.path(), kPoint, 0).state, PointState::Interrupted);
  folder.append("points/one/metrics.jsonl", point_line(4, 1, 3));
  const Outcome outcome = outcome_of(folder.path(), kPoint, 0);
  EXPECT_EQ(outcome.state, PointState::Finished);
  EXPECT_EQ(outcome.peak_bytes, 77);
  EXPECT_EQ(outcome.bubble, 0.25);
  EXPECT_EQ(outcome.loss, 2.5);
}

}  // namespace
}  // namespace penstock
