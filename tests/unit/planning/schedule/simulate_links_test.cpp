// Messages, sums over replicas and the update in simulated steps, against closed forms. Times are
// small multiples of powers of two, so they compare exactly unless a tolerance is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/timing/simulate.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr double kForward = 1;
constexpr double kBackward = 2;
constexpr Lowering kStep{.reduce = true, .update = true};

PipelineCosts link_costs(const Schedule& s) {
  PipelineCosts costs;
  costs.stage.assign(s.stages, {.forward = kForward, .backward = kBackward});
  costs.boundary_bytes.assign(s.stages - 1, 8);
  return costs;
}

double time_of(const Schedule& s, const PipelineCosts& costs) {
  return makespan(simulate(s, costs));
}

TEST(Links, LatencyCostsOneFOneBTwicePerMicroBatchAndGpipeOncePerHop) {
  for (int p = 2; p <= 6; ++p) {
    for (int m = 1; m <= 20; ++m) {
      for (const double c : {0.125, 0.5, 1.0}) {
        const auto extra = [&](const Schedule& plain) {
          const Schedule s = lower(plain, kStep);
          PipelineCosts costs = link_costs(s);
          costs.within_node.latency = c;
          return time_of(s, costs) - (m + p - 1) * (kForward + kBackward);
        };
        SCOPED_TRACE(::testing::Message() << p << " ranks, " << m << " micro-batches, " << c);
        ASSERT_EQ(extra(gpipe(p, m)), 2 * c * (p - 1));
        ASSERT_EQ(extra(make_schedule("1f1b-deep", p, m)), 2 * c * (p - 1));
        ASSERT_EQ(extra(one_f_one_b(p, m)), 2 * c * ((p - 1) + (m - 1) * (p - 1) / p));
      }
    }
  }
}

// A deeper warm-up hides more of a latency of half a forward, at the price of one stash each.
TEST(Links, ADeeperWarmUpHidesMore) {
  const auto length = [](int warm_up) {
    const Schedule s = lower(one_f_one_b(4, 16, warm_up), kStep);
    PipelineCosts costs = link_costs(s);
    costs.within_node.latency = 0.5;
    return time_of(s, costs);
  };
  const double least = (16 + 3) * (kForward + kBackward) + 2 * 0.5 * 3;
  EXPECT_EQ(length(0), least + 2 * 0.5 * (15 * 3 / 4));
  EXPECT_EQ(length(1), least + 6);
  EXPECT_EQ(length(2), least + 1);
  EXPECT_EQ(length(3), least);
  EXPECT_EQ(length(4), least);
}

TEST(Links, MessagesOfOneEdgeFollowOneAnother) {
  for (const double wire : {3.0, 8.0}) {  // longer than a forward and a backward take
    const int m = 5;
    const Schedule s = lower(gpipe(2, m), {});
    PipelineCosts costs = link_costs(s);
    costs.within_node = {.latency = 0.5, .seconds_per_byte = wire / 8};
    const double phase = m * wire + 0.5;  // all messages one way
    EXPECT_EQ(time_of(s, costs), 2 * kForward + phase + 2 * kBackward + phase);
  }
}

TEST(Links, ShortMessagesHideBehindComputation) {
  const Schedule s = lower(gpipe(3, 10), {});
  PipelineCosts costs = link_costs(s);
  costs.within_node.seconds_per_byte = 0.5 / 8;
  EXPECT_EQ(time_of(s, costs), 12 * (kForward + kBackward) + 2 * 2 * 0.5);  // once per hop
  EXPECT_EQ(exposed_communication(s, costs), 2 * 2 * 0.5);
}

TEST(Links, EveryBoundaryHasItsOwnSize) {
  const Schedule s = lower(forward_only(3, 4), {});
  PipelineCosts costs = link_costs(s);
  costs.boundary_bytes = {1, 6};
  costs.within_node.seconds_per_byte = 0.5;
  EXPECT_EQ(time_of(s, costs), kForward + 0.5 + kForward + 4 * 3 + kForward);
}

TEST(Links, OverheadKeepsBothEndsBusy) {
  const int m = 6;
  const Schedule s = lower(forward_only(2, m), {});
  PipelineCosts costs = link_costs(s);
  costs.within_node.overhead = 0.25;
  EXPECT_EQ(time_of(s, costs), m * (kForward + 0.25) + 0.25 + kForward);
}

TEST(Links, AReceiverThatCopiesDoesNotComputeMeanwhile) {
  const int m = 6;
  const Schedule s = lower(forward_only(2, m), {});
  PipelineCosts costs = link_costs(s);
  costs.within_node = {.latency = 0.125, .seconds_per_byte = 0.5 / 8, .receiver_copies = true};
  EXPECT_EQ(time_of(s, costs), kForward + 0.125 + m * (0.5 + kForward));
}

TEST(Links, OnlyWhatLeavesTheNodeTakesTheSlowRoad) {
  const Schedule s = lower(gpipe(4, 8), kStep);
  PipelineCosts costs = link_costs(s);
  costs.between_nodes = {.latency = 0.25, .seconds_per_byte = 0.5 / 8};
  const double plain = 11 * (kForward + kBackward);
  EXPECT_EQ(time_of(s, costs), plain);  // no nodes named: one
  costs.node_of_rank = {0, 0, 1, 1};
  EXPECT_EQ(time_of(s, costs), plain + 2 * 0.75);
  costs.node_of_rank = {0, 1, 0, 1};
  EXPECT_EQ(time_of(s, costs), plain + 3 * 2 * 0.75);
}

TEST(Links, AReceiveLastsFromAskingToHaving) {
  const Timeline t = simulate(lower(gpipe(2, 1), {}), link_costs(gpipe(2, 1)));
  const TimedInstruction& receive = t.rank[1][0];
  EXPECT_EQ(receive.instruction.op, Op::RecvActivation);
  EXPECT_EQ(receive.start, 0);
  EXPECT_EQ(receive.end, kForward);
  EXPECT_EQ(makespan_bubble(t), kForward + kBackward);  // waiting is no work
}

// One rank, two micro-batches: the last backward runs from 4 to 6.
struct OneRank {
  Schedule schedule = lower(gpipe(1, 2), kStep);
  PipelineCosts costs = link_costs(schedule);

  explicit OneRank(std::vector<ReduceBucket> buckets, LinkTimes link = {.seconds_per_byte = 1}) {
    costs.replicas = 4;  // a byte costs 2 x 3/4 of a byte's time
    costs.replica_link = link;
    costs.reduce = {std::move(buckets)};
  }
  [[nodiscard]] double time() const { return time_of(schedule, costs); }
};

TEST(Sums, HideBehindTheRestOfTheLastWeightGradient) {
  EXPECT_EQ(OneRank({{0.25, 1}}).time(), 6);     // 4.5 to 6
  EXPECT_EQ(OneRank({{0.25, 2}}).time(), 7.5);   // 4.5 to 7.5
  EXPECT_EQ(OneRank({{1.0, 2}}).time(), 6 + 3);  // all of it is exposed
  EXPECT_EQ(OneRank({}).time(), 6);
}

TEST(Sums, BucketsWaitForOneAnother) {
  EXPECT_EQ(OneRank({{0, 2}, {0.5, 2}}).time(), 4 + 3 + 3);
  EXPECT_EQ(OneRank({{0, 0.5}, {1, 2}}).time(), 6 + 3);
}

TEST(Sums, TakeTwoLatenciesEach) {
  EXPECT_EQ(OneRank({{1, 2}, {1, 2}}, {.latency = 0.5, .seconds_per_byte = 1}).time(),
            6 + 2 * (3 + 1));
}

TEST(Sums, AreNoneForOneReplicaOrWithoutTheInstruction) {
  OneRank alone({{1, 2}});
  alone.costs.replicas = 1;
  EXPECT_EQ(alone.time(), 6);
  OneRank never({{1, 2}});
  never.schedule = lower(gpipe(1, 2), {.update = true});
  EXPECT_EQ(never.time(), 6);
}

TEST(Sums, StartInTheLastWeightGradientWhereverTheInstructionStands) {
  OneRank behind({{0.25, 2}});
  auto& program = behind.schedule.program[0];
  const Instruction reduce{Op::ReduceGradients, 0};
  for (const int place : {3, 4}) {  // before and after B0.1
    program.erase(std::find(program.begin(), program.end(), reduce));
    program.insert(program.begin() + place, reduce);
    const Timeline t = simulate(behind.schedule, behind.costs);
    EXPECT_EQ(t.rank[0][place].start, 4.5);
    EXPECT_EQ(t.rank[0][place].end, 7.5);
    EXPECT_EQ(makespan(t), 7.5);
    EXPECT_EQ(makespan_bubble(t), 0);  // sums are no bubble
  }
}

TEST(Sums, OfTheLastStageHideBehindTheBackwardsOfTheFirst) {
  const Schedule s = lower(gpipe(2, 3), kStep);
  PipelineCosts costs = link_costs(s);
  costs.replicas = 2;
  costs.replica_link.seconds_per_byte = 1;
  const double plain = 4 * (kForward + kBackward);
  costs.reduce = {{}, {{1.0, 2}}};
  EXPECT_EQ(time_of(s, costs), plain);
  EXPECT_EQ(exposed_communication(s, costs), 0);
  costs.reduce = {{}, {{1.0, 5}}};
  EXPECT_EQ(time_of(s, costs), plain + 3);
  EXPECT_EQ(exposed_communication(s, costs), 3);
}

TEST(Sums, MovedByTheRankItselfHideOnlyWhereItWaits) {
  OneRank busy({{0, 2}}, {.seconds_per_byte = 1, .receiver_copies = true});
  EXPECT_EQ(busy.time(), 6 + 3);
  // A V of two ranks: rank 0 is done with stage 3 and waits for the gradient of stage 0.
  const Schedule s = lower(zb_v(2, 1), kStep);
  PipelineCosts costs;
  costs.stage.assign(4, {});
  costs.stage[1].backward_input = 9;
  const Timeline plain = simulate(s, costs);
  const auto receive =
      std::find_if(plain.rank[0].begin(), plain.rank[0].end(),
                   [](const TimedInstruction& t) { return t.instruction.op == Op::RecvGradient; });
  const double waits = receive->end - receive->start;
  ASSERT_GT(waits, 3);
  costs.replicas = 2;  // a byte costs the time of one
  costs.replica_link = {.seconds_per_byte = 1, .receiver_copies = true};
  costs.reduce = {{}, {}, {}, {{1.0, waits}}};
  EXPECT_EQ(time_of(s, costs), makespan(plain));
  costs.reduce[3] = {{1.0, waits + 5}};
  EXPECT_EQ(time_of(s, costs), makespan(plain) + 5);
}

// Two stages on two ranks: what a rank's first forward needs comes while it runs, and holds it up.
TEST(Weights, OfOtherReplicasComeDuringTheFirstForward) {
  const Schedule s = lower(gpipe(2, 2), kStep);
  PipelineCosts costs = link_costs(s);
  costs.replicas = 4;  // a byte costs 3/4 of a byte's time before the update, and as much after it
  costs.replica_link = {.latency = 0.25, .seconds_per_byte = 1};
  costs.updates_are_shared = true;
  const auto with_bytes = [&](double first, double second) {
    costs.reduce = {{{.ready = 0, .bytes = first}}, {{.ready = 0, .bytes = second}}};
    return simulate(s, costs);
  };
  const double plain = 3 * (kForward + kBackward);
  const double fits = (kForward - 0.25) / 0.75;
  EXPECT_EQ(makespan(with_bytes(fits, 2 * fits)), plain);
  const Timeline later = with_bytes(fits + 4, 0);
  EXPECT_EQ(later.rank[0][0].end, kForward + 3);
  EXPECT_EQ(makespan(later), plain + 3 + std::max(0.0, 0.25 + 0.75 * (fits + 4) - kBackward));
  costs.late_weights = false;
  EXPECT_EQ(makespan(with_bytes(fits, 0)), plain + kForward);
  costs.late_weights = true;
  costs.replica_link.receiver_copies = true;
  EXPECT_GE(makespan(with_bytes(fits, 0)), plain + kForward);
}

TEST(Weights, OfTheStagesOfARankComeOneAfterAnother) {
  const Schedule s = lower(zb_v(2, 1), kStep);
  PipelineCosts costs = link_costs(s);
  costs.replicas = 2;  // a byte costs half of its time
  costs.replica_link.seconds_per_byte = 1;
  costs.updates_are_shared = true;
  costs.reduce.resize(4);
  costs.reduce[0] = {{.ready = 0, .bytes = 20}};
  costs.reduce[3] = {{.ready = 0, .bytes = 40}};
  const Timeline t = simulate(s, costs);
  const auto forward = [&](int stage) {
    return *std::find_if(t.rank[0].begin(), t.rank[0].end(), [&](const TimedInstruction& span) {
      return span.instruction == Instruction{Op::Forward, stage, 0};
    });
  };
  EXPECT_EQ(forward(0).end, 10);
  EXPECT_EQ(forward(3).end, 30);
}

TEST(Update, WaitsForTheGradientsOfAllRanks) {
  const Schedule s = lower(one_f_one_b(3, 4), kStep);
  PipelineCosts costs = link_costs(s);
  costs.update = {0.5, 2, 1};
  const double plain = 6 * (kForward + kBackward);
  const Timeline t = simulate(s, costs);
  EXPECT_EQ(makespan(t), plain + 2);
  for (int r = 0; r < 3; ++r) EXPECT_EQ(t.rank[r].back().end, plain + costs.update[r]);
  EXPECT_EQ(t.rank[2].back().start, plain - 2 * kBackward);   // asked long before
  EXPECT_EQ(makespan_bubble(t), 2 * (kForward + kBackward));  // the update is no bubble
  EXPECT_EQ(span_bubble(t), 2 * (kForward + kBackward));
}

TEST(Costs, AreRefusedWhereTheyDoNotFit) {
  const Schedule s = lower(gpipe(3, 2), kStep);
  const auto message = [&](auto change) {
    PipelineCosts costs = link_costs(s);
    costs.reduce.resize(3);
    costs.update.resize(3);
    costs.node_of_rank.resize(3);
    EXPECT_EQ(message_of([&] { return simulate(s, costs); }), "");
    change(costs);
    return message_of([&] { return simulate(s, costs); });
  };
  using C = PipelineCosts;
  EXPECT_THAT(message([](C& c) { c.boundary_bytes.pop_back(); }), HasSubstr("1 boundaries"));
  EXPECT_THAT(message([](C& c) { c.skip_bytes = {1}; }), HasSubstr("1 skips"));
  EXPECT_THAT(message([](C& c) { c.node_of_rank.pop_back(); }), HasSubstr("2 ranks"));
  EXPECT_THAT(message([](C& c) { c.update.pop_back(); }), HasSubstr("2 ranks"));
  EXPECT_THAT(message([](C& c) { c.reduce.pop_back(); }), HasSubstr("2 stages"));
  EXPECT_THAT(message([](C& c) { c.replicas = 0; }), HasSubstr("at least 1 replica"));
  EXPECT_THAT(message([](C& c) { c.reduce[1] = {{1.5, 1}}; }), HasSubstr("a share"));
  EXPECT_THAT(message([](C& c) { c.reduce[1] = {{1, -1}}; }), HasSubstr("a message of -1"));
  EXPECT_THAT(message([](C& c) { c.boundary_bytes[1] = -2; }), HasSubstr("a message of -2"));
  EXPECT_THAT(message([](C& c) { c.between_nodes.overhead = -1; }), HasSubstr("a time of -1"));
  EXPECT_THAT(message([](C& c) { c.update[2] = std::numeric_limits<double>::infinity(); }),
              HasSubstr("a time of inf"));
}

// Stage 1 takes three times as long: with room for one message, stage 0 sends micro-batch 2 when 1
// has been received, at 4, and micro-batch 3 when 2 has been, at 7.
TEST(Links, ASendWaitsForRoomInTheWindow) {
  const Schedule s = lower(gpipe(2, 4), {});
  PipelineCosts costs;
  costs.stage.assign(2, StageTimes{});
  costs.stage[1].forward = 3;
  const auto start_of_last_forward = [&](const TransportRules& rules) {
    double start = 0;
    const Timeline timeline = simulate(s, costs, rules);
    for (const TimedInstruction& span : timeline.rank[0]) {
      if (span.instruction == Instruction{Op::Forward, 0, 3}) start = span.start;
    }
    return start;
  };
  EXPECT_EQ(start_of_last_forward({}), 3);
  EXPECT_EQ(start_of_last_forward({.window = 1}), 4);
  EXPECT_EQ(start_of_last_forward({.window = 2}), 3);
}

}  // namespace
}  // namespace penstock
