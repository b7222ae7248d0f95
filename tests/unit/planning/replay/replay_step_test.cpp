// A step of a whole job: the simulator's answer where nothing is shared, closed forms where cards
// are.
#include "runtime/planning/replay/replay_step.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/planning/schedule/proof/window.h"
#include "runtime/planning/schedule/recipe.h"
#include "runtime/planning/schedule/timing/simulate.h"

namespace penstock {
namespace {

Schedule lowered(const std::string& name, int stages, int chunks, int micro_batches,
                 const std::string& recompute = "none", int replicas = 2) {
  return training_schedule({.schedule = name,
                            .stages = stages,
                            .micro_batches = micro_batches,
                            .chunks = chunks,
                            .recompute = recompute,
                            .replicas = replicas})
      .schedule;
}

// Unequal stages, boundaries and buckets.
PipelineCosts uneven_costs(const Schedule& schedule, int replicas) {
  PipelineCosts costs;
  costs.replicas = replicas;
  for (int s = 0; s < schedule.stages; ++s) {
    const double size = 1 + 0.25 * (s % 3);
    costs.stage.push_back({.forward = size,
                           .recompute = size,
                           .backward_input = size,
                           .backward_weight = 0.75 * size,
                           .backward = 1.75 * size});
    if (s > 0) costs.boundary_bytes.push_back(10 + s);
    costs.reduce.push_back({{.ready = 0.5, .bytes = 30}, {.ready = 1, .bytes = 20.0 + s}});
  }
  costs.update.assign(static_cast<size_t>(schedule.ranks), 0.5);
  return costs;
}

struct Case {
  const char* schedule;
  int stages, chunks;
};
constexpr Case kCases[] = {{"gpipe", 4, 1}, {"1f1b", 4, 1}, {"interleaved-1f1b", 8, 2},
                           {"zb-h1", 4, 1}, {"zb-v", 8, 2}, {"1f1b", 1, 1}};

void expect_simulated(Job job) {
  PipelineCosts alone = job.costs;
  alone.node_of_rank.clear();
  if (job.ranks_per_node == 1) {
    for (int r = 0; r < job.schedule.ranks; ++r) alone.node_of_rank.push_back(r);
  }
  alone.replica_link = job.ranks_per_node == 1 ? alone.between_nodes : alone.within_node;
  const double simulated = makespan(simulate(job.schedule, alone, job.rules));
  EXPECT_NEAR(replay_step(job).step_s, simulated, 1e-9 * simulated);
}

TEST(ReplayStep, IsTheSimulatorsWhereNothingIsShared) {
  for (const Case& each : kCases) {
    for (const bool copies : {false, true}) {
      for (const bool windowed : {false, true}) {
        SCOPED_TRACE(testing::Message() << each.schedule << each.stages << copies << windowed);
        Job job{.schedule = lowered(each.schedule, each.stages, each.chunks, 6, "stage"),
                .cards = 0};
        job.costs = uneven_costs(job.schedule, 3);
        job.costs.within_node = {.latency = 0.125,
                                 .seconds_per_byte = 0.01,
                                 .overhead = 0.0625,
                                 .receiver_copies = copies};
        job.costs.between_nodes = {.latency = 0.5, .seconds_per_byte = 0.0625, .overhead = 0.125};
        if (windowed) job.rules.window = message_window(job.schedule);
        expect_simulated(job);
        job.ranks_per_node = 1;
        expect_simulated(job);
        job.costs.updates_are_shared = true;
        expect_simulated(job);
        job.costs.late_weights = false;
        expect_simulated(job);
        job.ranks_per_node = 0;
        expect_simulated(job);
      }
    }
  }
}

// D replicas of two stages, all first stages on one node and all second ones on another: forwards
// take 1, backwards 2, a message holds a card for t.
Job two_nodes(int replicas, int cards, double t) {
  Job job{.schedule = lowered("gpipe", 2, 1, 1, "none", replicas),
          .ranks_per_node = replicas,
          .by_stages = false,
          .cards = cards};
  job.costs.replicas = replicas;
  job.costs.stage.assign(2, {.forward = 1, .backward = 2});
  job.costs.boundary_bytes = {1};
  job.costs.between_nodes.seconds_per_byte = t;
  return job;
}

// Activations leave at once and queue, gradients come back one by one.
TEST(ReplayStep, MessagesOfRanksOfANodeShareItsCard) {
  constexpr double kForwardAndBack = 1 + 1 + 2 + 2;
  EXPECT_DOUBLE_EQ(replay_step(two_nodes(8, 1, 0.5)).step_s, kForwardAndBack + (8 + 1) * 0.5);
  EXPECT_DOUBLE_EQ(replay_step(two_nodes(8, 2, 0.5)).step_s, kForwardAndBack + (4 + 1) * 0.5);
  EXPECT_DOUBLE_EQ(replay_step(two_nodes(8, 8, 0.5)).step_s, kForwardAndBack + 2 * 0.5);
  EXPECT_DOUBLE_EQ(replay_step(two_nodes(8, 1, 0.5)).busiest_card_s, 8 * 0.5);
}

// Large ones side by side, slice by slice: all of a round arrive when the card has carried nearly
// all of them, so that both rounds take the whole time.
TEST(ReplayStep, LargeMessagesShareACardEvenly) {
  Job job = two_nodes(8, 1, 0);
  job.costs.boundary_bytes = {8e6};
  job.costs.between_nodes.seconds_per_byte = 0.5 / 8e6;
  const double evenly = 6 + 2 * 8 * 0.5;
  EXPECT_LE(replay_step(job).step_s, evenly + 1e-9);
  EXPECT_GT(replay_step(job).step_s, evenly - 2 * 8 * 0.5 / 8);
}

// Replicas that lie on their nodes alike are walked through once: the same bits as all of them. All
// cards as slow as usual are no difference, but have every replica walked through.
TEST(ReplayStep, OfDistinctReplicasIsThatOfAll) {
  bool fewer = false;
  for (const Case& each : kCases) {
    for (const int ranks_per_node : {1, 2, 3, 4, 6, 8, 24}) {
      for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7}) {
        SCOPED_TRACE(testing::Message()
                     << each.schedule << each.stages << " " << ranks_per_node << " " << variant);
        Job job{.schedule = lowered(each.schedule, each.stages, each.chunks, 6, "none", 24),
                .ranks_per_node = ranks_per_node,
                .by_stages = (variant & 1) != 0,
                .cards = (variant & 2) != 0 ? 1 : 2};
        job.costs = uneven_costs(job.schedule, 24);
        job.costs.updates_are_shared = (variant & 4) != 0;
        job.costs.within_node = {.latency = 0.125, .seconds_per_byte = 0.01};
        job.costs.between_nodes = {.latency = 0.5, .seconds_per_byte = 0.0625, .overhead = 0.125};
        fewer = fewer || job.distinct_replicas() < 24;
        const ReplayedStep distinct = replay_step(job);
        job.node_slowness.assign(static_cast<size_t>(job.nodes()), 1.0);
        ASSERT_EQ(job.distinct_replicas(), 24);
        const ReplayedStep all = replay_step(job);
        EXPECT_EQ(distinct.step_s, all.step_s);
        EXPECT_EQ(distinct.last_compute_s, all.last_compute_s);
        EXPECT_EQ(distinct.busiest_card_s, all.busiest_card_s);
      }
    }
  }
  EXPECT_TRUE(fewer);
}

TEST(ReplayStep, OneSlowNodeSlowsWhatPassesIt) {
  Job job = two_nodes(8, 1, 0.5);
  job.node_slowness = {1, 3};
  // The second node takes in what the first sends at a third of its speed, and sends so too:
  // gradients leave one by one every 1.5.
  EXPECT_DOUBLE_EQ(replay_step(job).step_s, 6 + (8 + 1) * 1.5);
}

// A pipeline of K ranks on each of D nodes: K groups sum b bytes each, through one card a node.
TEST(ReplayStep, SumsOfTheRanksOfANodeShareItsCard) {
  constexpr int kStages = 4;
  constexpr int kReplicas = 8;
  Job job{.schedule = lowered("gpipe", kStages, 1, 1, "none", kReplicas),
          .ranks_per_node = kStages};
  job.costs.replicas = kReplicas;
  job.costs.stage.assign(kStages, {.forward = 1, .backward = 2});
  job.costs.reduce.assign(kStages, {{.ready = 1, .bytes = 100}});
  job.costs.between_nodes.seconds_per_byte = 0.1;
  const double sum = 2.0 * 7 / 8 * 100 * 0.1;
  EXPECT_NEAR(replay_step(job).step_s, kStages * 1 + 2 + kStages * sum, 1e-9);
  job.cards = kStages;
  EXPECT_NEAR(replay_step(job).step_s, kStages * (1 + 2) + sum, 1e-9);
}

// Half of the others are on the same node: half the bytes pass the card, of two members.
TEST(ReplayStep, OnlyWhatLeavesTheNodePassesItsCard) {
  Job job{.schedule = lowered("gpipe", 1, 1, 1, "none", 3), .ranks_per_node = 2};
  job.costs.replicas = 3;
  job.costs.stage = {{.forward = 1, .backward = 2}};
  job.costs.reduce = {{{.ready = 1, .bytes = 30}}};
  job.costs.between_nodes.seconds_per_byte = 1;
  const double moved = 2.0 * 2 / 3 * 30;
  EXPECT_NEAR(replay_step(job).step_s, 3 + 2 * (moved / 2), 1e-9);
  EXPECT_NEAR(replay_step(job).busiest_card_s, moved, 1e-9);
}

// Weights that come late share the card with one another, and the forwards wait for them; those
// that do not pass it after the update.
TEST(ReplayStep, WeightsOfTheRanksOfANodeShareItsCard) {
  constexpr int kReplicas = 4;
  Job job{.schedule = lowered("gpipe", 2, 1, 1, "none", kReplicas), .ranks_per_node = 2};
  job.costs.replicas = kReplicas;
  job.costs.updates_are_shared = true;
  job.costs.stage.assign(2, {.forward = 1, .backward = 2});
  job.costs.reduce = {{{.ready = 1, .bytes = 40}}, {{.ready = 1, .bytes = 80}}};
  job.costs.between_nodes.seconds_per_byte = 0.1;
  const double first = 0.75 * 40 * 0.1;
  const double second = 0.75 * 80 * 0.1;
  // Both groups' weights pass at once, the first stage's first; then the first stage's sum waits
  // for nothing, as the second's has passed while it differentiated.
  EXPECT_NEAR(replay_step(job).step_s, first + second + 2 + std::max(second, 2.0) + first, 1e-9);
  job.costs.late_weights = false;
  EXPECT_NEAR(replay_step(job).step_s, 1 + 1 + 2 + std::max(second, 2.0) + first + first + second,
              1e-9);
}

TEST(ReplayStep, StragglersAndJitterFollowTheSeedAlone) {
  Job job = two_nodes(4, 1, 0);
  job.unevenness = {.straggler_share = 1, .straggler_factor = 2};
  EXPECT_DOUBLE_EQ(replay_step(job).step_s, 2 * 6);
  job.unevenness = {.seed = 5, .jitter = 0.1};
  const double first = replay_step(job, 0).step_s;
  EXPECT_EQ(first, replay_step(job, 0).step_s);
  EXPECT_NE(first, replay_step(job, 1).step_s);
  EXPECT_GT(first, 6);  // the slowest of four
  EXPECT_LT(first, 8);
}

TEST(ReplayStep, WhatIsNoJobIsRefused) {
  Job job = two_nodes(2, 1, 0.5);
  job.node_slowness = {1};
  EXPECT_THROW((void)replay_step(job), std::invalid_argument);
  job = two_nodes(2, 1, 0.5);
  job.costs.stage.pop_back();
  EXPECT_THROW((void)replay_step(job), std::invalid_argument);
}

}  // namespace
}  // namespace penstock
