#include "runtime/records/report/time_shares.h"

#include <gtest/gtest.h>

#include <sstream>

#include "runtime/records/telemetry/trace_json.h"

namespace penstock {
namespace {

// A trace that the program has written and this room has read.
std::vector<RecordedStep> read_back(const Trace& trace) {
  std::istringstream lines(trace_json(trace));
  TraceReader reader;
  for (std::string line; std::getline(lines, line);) reader.add(line, "trace");
  return reader.finish();
}

TimedInstruction span(Op op, int stage, double start, double end, int micro_batch = 0) {
  return {.instruction = {.op = op, .stage = stage, .micro_batch = micro_batch},
          .start = start,
          .end = end};
}

// Two stages, one micro-batch; times in milliseconds.
Timeline small_step() {
  return {
      {{span(Op::Forward, 0, 0, 2), span(Op::SendActivation, 0, 2, 2.5),
        span(Op::Recompute, 0, 2.5, 4.5), span(Op::RecvGradient, 0, 4.5, 9),
        span(Op::Backward, 0, 9, 12), span(Op::OptimizerStep, -1, 12, 13, -1)},
       {span(Op::RecvActivation, 1, 0, 3), span(Op::Forward, 1, 3, 5), span(Op::Backward, 1, 5, 8),
        span(Op::SendGradient, 1, 8, 8.5), span(Op::OptimizerStep, -1, 8.5, 13, -1)}}};
}

std::vector<RecordedStep> small_trace(const Timeline& timeline) {
  return read_back({.processes = {{.name = "measured",
                                   .rank_names = {"rank 0", "rank 1"},
                                   .steps = {{.step = 3, .start = 5, .timeline = timeline}}}},
                    .seconds_per_unit = 1e-3});
}

TEST(TimeSharesOf, ASmallStepAreKnown) {
  const std::vector<RecordedStep> trace = small_trace(small_step());
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace[0].step, 3);
  const StepShares shares = time_shares(trace[0].processes.at(0));
  EXPECT_NEAR(shares.length_ms, 13, 1e-6);
  ASSERT_EQ(shares.ranks.size(), 2U);
  const auto& [first, second] = std::tie(shares.ranks[0], shares.ranks[1]);
  EXPECT_NEAR(first.compute, 5, 1e-6);
  EXPECT_NEAR(first.recompute, 2, 1e-6);
  EXPECT_NEAR(first.bubble, 4, 1e-6);         // 4.5 to 8.5, when the gradient was posted
  EXPECT_NEAR(first.communication, 1, 1e-6);  // the send, and 8.5 to 9
  EXPECT_NEAR(first.optimizer, 1, 1e-6);
  EXPECT_NEAR(second.compute, 5, 1e-6);
  EXPECT_NEAR(second.bubble, 6, 1e-6);  // 0 to 2.5, and 8.5 to 12
  EXPECT_NEAR(second.communication, 1, 1e-6);
  EXPECT_NEAR(second.optimizer, 1, 1e-6);
}

// A simulated send takes no time and is not in the trace.
TEST(TimeSharesOf, AStepWithoutSendsGoByWhatWasComputed) {
  Timeline timeline = small_step();
  timeline.rank[0][1].end = timeline.rank[0][1].start;
  timeline.rank[1][3].end = timeline.rank[1][3].start;
  const StepShares shares = time_shares(small_trace(timeline)[0].processes.at(0));
  EXPECT_NEAR(shares.ranks[0].bubble, 0.5 + 3.5, 1e-6);  // 2 to 2.5 with nothing, 4.5 to 8
  EXPECT_NEAR(shares.ranks[0].communication, 1, 1e-6);   // 8 to 9
  EXPECT_NEAR(shares.ranks[1].communication, 1, 1e-6);   // 2 to 3
}

// A sum over replicas runs beside the rest: only what nothing else covers is its own.
TEST(TimeSharesOf, AStepAddUpToItsLengthBesideSums) {
  Timeline timeline = small_step();
  timeline.rank[1].insert(timeline.rank[1].begin() + 2, span(Op::ReduceGradients, 1, 4.9, 7, -1));
  const StepShares shares = time_shares(small_trace(timeline)[0].processes.at(0));
  for (const TimeShares& rank : shares.ranks) EXPECT_NEAR(rank.total(), 13, 1e-6);
  EXPECT_NEAR(shares.ranks[1].compute, 5, 1e-6);
  EXPECT_NEAR(shares.ranks[1].reduction, 0, 1e-6);
}

// What is left of the sums after the last backward of all is nobody's but theirs, on every rank:
// the optimizer waits for all.
TEST(TimeSharesOf, TheEndOfTheSumsIsNotTheOptimizers) {
  Timeline timeline = small_step();
  timeline.rank[1].insert(timeline.rank[1].begin() + 2,
                          span(Op::ReduceGradients, 1, 4.9, 12.25, -1));
  const StepShares shares = time_shares(small_trace(timeline)[0].processes.at(0));
  for (const TimeShares& rank : shares.ranks) {
    EXPECT_NEAR(rank.reduction, 0.25, 1e-6);
    EXPECT_NEAR(rank.optimizer, 0.75, 1e-6);
    EXPECT_NEAR(rank.total(), 13, 1e-6);
  }
}

TEST(TimeSharesOf, ReplicasAreKeptApart) {
  Trace trace{.processes = {{.name = "measured",
                             .rank_names = {"rank 0 (position 0, replica 0)",
                                            "rank 1 (position 1, replica 0)",
                                            "rank 2 (position 0, replica 1)",
                                            "rank 3 (position 1, replica 1)"},
                             .steps = {{.step = 1, .timeline = small_step()}}}},
              .seconds_per_unit = 1e-3};
  auto& ranks = trace.processes[0].steps[0].timeline.rank;
  const auto late = small_step().rank;
  for (const auto& spans : late) {
    auto& copy = ranks.emplace_back(spans);
    for (TimedInstruction& one : copy) {
      one.start += 0.25;
      one.end += 0.25;
    }
  }
  const StepShares shares = time_shares(read_back(trace)[0].processes.at(0));
  ASSERT_EQ(shares.ranks.size(), 4U);
  EXPECT_NEAR(shares.ranks[0].communication, 1, 1e-6);
  EXPECT_NEAR(shares.ranks[2].communication, 1, 1e-6);
}

}  // namespace
}  // namespace penstock
