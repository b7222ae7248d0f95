// Simulated times against published and derived closed forms. All times are small sums of whole
// numbers and halves, so they compare exactly unless a tolerance is named.
#include "runtime/planning/schedule/timing/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// Times of a whole rank's layers; a rank that holds several stages has an equal share in each.
PipelineCosts costs_of(const Schedule& s, double forward, double input, double weight,
                       double latency = 0) {
  const double share = static_cast<double>(s.ranks) / s.stages;
  const StageTimes times{.forward = forward * share,
                         .recompute = forward * share,
                         .backward_input = input * share,
                         .backward_weight = weight * share,
                         .backward = (input + weight) * share};
  PipelineCosts costs;
  costs.stage.assign(s.stages, times);
  costs.within_node.latency = latency;
  return costs;
}

double makespan_of(const std::string& name, int p, int m, double latency = 0) {
  const Schedule s = make_schedule(name, p, m);
  return makespan(simulate(s, costs_of(s, 1, 1, 1, latency)));
}

struct Golden {
  std::string name;
  double p2_m4, p3_m6, p4_m4, p4_m8;
};

TEST(Simulate, GoldenMakespans) {
  for (const Golden& g : {Golden{"gpipe", 15, 24, 21, 33}, Golden{"1f1b", 15, 24, 21, 33},
                          Golden{"interleaved-1f1b", 13.5, 21, 16.5, 28.5},
                          Golden{"zb-h1", 13, 20, 15, 27}, Golden{"zb-v", 12.5, 19, 15, 25.5}}) {
    EXPECT_EQ(makespan_of(g.name, 2, 4), g.p2_m4) << g.name;
    EXPECT_EQ(makespan_of(g.name, 3, 6), g.p3_m6) << g.name;
    EXPECT_EQ(makespan_of(g.name, 4, 4), g.p4_m4) << g.name;
    EXPECT_EQ(makespan_of(g.name, 4, 8), g.p4_m8) << g.name;
  }
}

TEST(Simulate, LatencyHurtsOneFOneBPerMicroBatchUnlessTheWarmUpIsDeep) {
  const std::vector<std::pair<std::string, std::vector<double>>> table = {
      {"gpipe", {57.6, 60, 63}},     {"1f1b", {59.8, 71, 85}},
      {"1f1b-deep", {57.6, 60, 63}}, {"interleaved-1f1b", {53.9, 59.5, 75.5}},
      {"zb-h1", {52.2, 57, 71}},     {"zb-v", {50.8, 56.5, 65.5}}};
  for (const auto& [name, expected] : table) {
    EXPECT_NEAR(makespan_of(name, 4, 16, 0.1), expected[0], 1e-9) << name;
    EXPECT_NEAR(makespan_of(name, 4, 16, 0.5), expected[1], 1e-9) << name;
    EXPECT_NEAR(makespan_of(name, 4, 16, 1.0), expected[2], 1e-9) << name;
  }
}

TEST(Simulate, ClosedFormsOverManySizesAndTimes) {
  for (int p = 1; p <= 10; ++p) {
    for (int m = 1; m <= 24; ++m) {
      for (const auto& [f, i, w] :
           {std::tuple{1.0, 1.0, 1.0}, std::tuple{3.0, 4.0, 2.0}, std::tuple{2.0, 5.0, 1.0}}) {
        SCOPED_TRACE(::testing::Message() << p << " ranks, " << m << " micro-batches, times " << f
                                          << ", " << i << ", " << w);
        const auto run = [&, f = f, i = i, w = w](const std::string& name) {
          const Schedule s = make_schedule(name, p, m);
          return simulate(s, costs_of(s, f, i, w));
        };
        const double plain = (m + p - 1) * (f + i + w);
        ASSERT_EQ(makespan(run("gpipe")), plain);
        ASSERT_EQ(makespan(run("1f1b")), plain);
        ASSERT_EQ(makespan(run("1f1b-deep")), plain);
        ASSERT_EQ(makespan_bubble(run("gpipe")), (p - 1) * (f + i + w));
        ASSERT_EQ(span_bubble(run("1f1b")), (p - 1) * (f + i + w));
        if (m % p == 0) {
          ASSERT_EQ(makespan(run("interleaved-1f1b")), m * (f + i + w) + (p - 1) * (f + i + w) / 2);
        }
        if (m >= p) {
          ASSERT_EQ(makespan_bubble(run("zb-h1")), (p - 1) * (f + i - w));
        }
      }
    }
  }
}

// The bubble of every schedule in the table, wherever it claims to know.
TEST(Simulate, TheTablesBubblesAreThoseOfTheTimeline) {
  for (const KnownSchedule& known : known_schedules()) {
    int known_sizes = 0;
    for (int p = 1; p <= 8; ++p) {
      for (int m = 1; m <= 24; ++m) {
        for (int chunks = 1; chunks <= 4; ++chunks) {
          if (chunks != known.chunks && !known.any_chunks) continue;
          for (const RankTimes& times :
               {RankTimes{12, 12, 12}, RankTimes{36, 48, 24}, RankTimes{24, 60, 12},
                RankTimes{12, 12, 36}, RankTimes{48, 24, 12}}) {
            const auto bubble = known.bubble({p, chunks, m}, times);
            if (!bubble) continue;
            SCOPED_TRACE(::testing::Message() << known.name << " " << p << " x " << chunks << ", "
                                              << m << ", " << times.backward_weight);
            const Schedule s = known.make({p, chunks, m});
            const auto [f, i, w] = times;
            ASSERT_EQ(makespan_bubble(simulate(s, costs_of(s, f, i, w))), *bubble);
            ++known_sizes;
          }
        }
      }
    }
    EXPECT_GT(known_sizes, 50) << known.name;
  }
}

// A perfect 1f1b of 4 x 8 waits for 3 of 11 units, whether it is predicted from one timeline or
// recorded by every rank with a clock of its own, and over several steps.
TEST(Bubble, IsTheSamePredictedAndRecorded) {
  const Schedule s = lower(make_schedule("1f1b", 4, 8), {.reduce = true, .update = true});
  PipelineCosts costs = costs_of(s, 1, 1, 1);
  costs.update.assign(4, 5.0);  // the update is no part of the pipeline phase
  const Timeline timeline = simulate(s, costs);
  EXPECT_EQ(bubble_share(timeline), 3.0 / 11);
  std::vector<Occupancy> recorded(4);
  for (int step = 0; step < 3; ++step) {
    for (size_t rank = 0; rank < 4; ++rank) {
      std::vector<TimedInstruction> own = timeline.rank[rank];
      const double offset = 64.0 * step + 1024.0 * static_cast<double>(rank);
      for (TimedInstruction& span : own) span.start += offset, span.end += offset;
      const Occupancy added = occupancy(own);
      recorded[rank].busy += added.busy;
      recorded[rank].span += added.span;
    }
  }
  EXPECT_EQ(bubble_share(recorded), 3.0 / 11);
}

TEST(Bubble, OfEveryScheduleIsItsMakespanBubble) {
  for (const std::string& name : schedule_names()) {
    const Schedule s = make_schedule(name, 4, 8);
    const Timeline timeline = simulate(s, costs_of(s, 1, 1, 1));
    EXPECT_DOUBLE_EQ(bubble_share(timeline), makespan_bubble(timeline) / makespan(timeline));
    EXPECT_DOUBLE_EQ(bubble_share(simulate(lower(s, {}), costs_of(s, 1, 1, 1))),
                     bubble_share(timeline));
  }
}

TEST(Bubble, OfNothingIsNothing) {
  EXPECT_EQ(bubble_share(Timeline{}), 0);
  EXPECT_EQ(bubble_share(std::vector<Occupancy>(2)), 0);
}

TEST(Simulate, ZeroBubbleVIsBusyFromFirstToLast) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2 * p - 1; m <= 20; ++m) {
      const Schedule s = zb_v(p, m);
      const Timeline equal = simulate(s, costs_of(s, 2, 2, 2));
      ASSERT_EQ(span_bubble(equal), 0);
      ASSERT_EQ(makespan_bubble(equal), p - 1);
      const Timeline uneven = simulate(s, costs_of(s, 4, 6, 2));  // halved: 2, 3, 1
      ASSERT_EQ(span_bubble(uneven), 2 * (p - 1) * (3 - 1));
      ASSERT_EQ(makespan_bubble(uneven), (p - 1) * std::max(3, 2 * (3 - 1)));
    }
  }
}

TEST(Simulate, RecomputeBeforeTheGradientHidesInTheBubble) {
  for (const auto& [p, m, expected] :
       {std::tuple{2, 4, 19}, std::tuple{4, 4, 25}, std::tuple{4, 8, 41}, std::tuple{4, 16, 73},
        std::tuple{4, 32, 137}, std::tuple{8, 8, 53}, std::tuple{8, 32, 149}}) {
    const Schedule s = lower(gpipe(p, m), {.recompute = true, .reduce = true, .update = true});
    EXPECT_EQ(makespan(simulate(s, costs_of(s, 1, 1, 1))), expected);
  }
}

TEST(Simulate, LoweringCostsNoTime) {
  for (const std::string& name : schedule_names()) {
    const Schedule s = make_schedule(name, 4, 8);
    const PipelineCosts costs = costs_of(s, 2, 3, 1, 0.5);
    const Schedule lowered = lower(s, {.reduce = true, .update = true});
    EXPECT_EQ(makespan(simulate(lowered, costs)), makespan(simulate(s, costs))) << name;
  }
}

TEST(Simulate, TheSlowestStageSetsThePace) {
  const Schedule s = gpipe(3, 10);
  PipelineCosts costs = costs_of(s, 1, 1, 1);
  costs.stage[1] = {.forward = 3, .backward = 5};
  EXPECT_EQ(makespan(simulate(s, costs)), 1 + 10 * 3 + 1 + 2 + 10 * 5 + 2);
}

// Qi et al. 2023, section 4: without the barrier a step of zb-h2 takes a rank's work, 24 of them;
// with it the last rank's delay of 3 more. The first rank of 1f1b is in it from start to end.
TEST(Simulate, StepsWithoutABarrierFollowOneAnotherRankByRank) {
  const auto length = [](const std::string& name, bool barrier) {
    const Schedule s = lower(make_schedule(name, 4, 8), {});
    PipelineCosts costs = costs_of(s, 1, 1, 1);
    costs.barrier = barrier;
    return simulate_steady(s, costs).length;
  };
  EXPECT_EQ(length("zb-h2", true), 27);
  EXPECT_EQ(length("zb-h2", false), 24);
  EXPECT_EQ(length("zb-v", true), 25.5);
  EXPECT_EQ(length("zb-v", false), 24);
  EXPECT_EQ(length("1f1b", false), length("1f1b", true));
}

TEST(Simulate, EvaluationTakesOneForwardPerSlot) {
  const Schedule s = forward_only(4, 8);
  const Timeline timeline = simulate(s, costs_of(s, 1, 1, 1));
  EXPECT_EQ(makespan(timeline), 8 + 4 - 1);
  EXPECT_EQ(timeline.rank[3][0].start, 3);
  EXPECT_EQ(timeline.rank[3][7].end, 11);
}

TEST(Simulate, NothingTakesTimeInAnEmptyOne) {
  const Schedule s = gpipe(2, 2);
  const Timeline timeline = simulate(s, costs_of(s, 0, 0, 0));
  EXPECT_EQ(makespan(timeline), 0);
  EXPECT_EQ(makespan_bubble(timeline), 0);
  EXPECT_EQ(span_bubble(timeline), 0);
}

TEST(Simulate, RefusesTimesThatAreNone) {
  const Schedule s = gpipe(2, 2);
  const auto message = [&](auto change) {
    PipelineCosts costs = costs_of(s, 1, 1, 1);
    change(costs);
    return message_of([&] { return simulate(s, costs); });
  };
  EXPECT_THAT(message([](PipelineCosts& c) { c.stage.pop_back(); }),
              HasSubstr("times for 1 stages"));
  EXPECT_THAT(message([](PipelineCosts& c) { c.stage[1].forward = -1; }),
              HasSubstr("a time of -1"));
  EXPECT_THAT(message([](PipelineCosts& c) { c.stage[0].backward = std::nan(""); }),
              HasSubstr("nan"));
  EXPECT_THAT(message([](PipelineCosts& c) {
                c.within_node.latency = std::numeric_limits<double>::infinity();
              }),
              HasSubstr("a time of inf"));
  EXPECT_THAT(message([](PipelineCosts& c) { c.begins = {0}; }),
              HasSubstr("beginnings for 1 ranks"));
  EXPECT_THAT(message([](PipelineCosts& c) { c.begins = {0, -2}; }), HasSubstr("a time of -2"));
}

}  // namespace
}  // namespace penstock
