// Ranks on unlike devices: which kind holds what, and splits, steps, memory and plans that follow.
#include "runtime/planning/plan/stages/unlike_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/planning/plan/bounds.h"
#include "runtime/planning/plan/plan.h"
#include "runtime/planning/plan/searched_step.h"
#include "runtime/planning/plan/split.h"
#include "runtime/planning/replay/replay_step.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Layers whose times are `factor` times 1 s forward and 2 s backward.
ModelCosts layers_at(int layers, double factor = 1) {
  LayerCost layer;
  layer.forward_s = layer.backward_input_s = layer.backward_weight_s = factor;
  layer.backward_s = 2 * factor;
  layer.update_s = 0.25 * factor;
  layer.input_bytes = layer.output_bytes = 100;
  layer.tape_bytes = 1000;
  layer.forward_peak_bytes = layer.backward_peak_bytes = layer.backward_input_peak_bytes = 200;
  layer.record_peak_bytes = 1200;
  layer.parameter_bytes = layer.gradient_bytes = 20;
  ModelCosts costs{.device = "test", .micro_batch_size = 2, .layers = {}};
  costs.layers.assign(layers, layer);
  costs.layers.front().input_bytes = 0;
  costs.layers.back().output_bytes = 0;
  return costs;
}

// Kind 1 takes twice as long.
ModelCosts two_kinds(int layers) {
  ModelCosts costs = layers_at(layers);
  costs.others = {layers_at(layers, 2)};
  return costs;
}

Cluster of_kinds(const std::vector<int>& kinds) {
  Cluster cluster;
  for (const int kind : kinds) cluster.devices.push_back({.kind = kind});
  return cluster;
}

Arrangement of_size(int stages, int replicas, const std::string& placement = "stages") {
  return {.stages = stages,
          .replicas = replicas,
          .micro_batches = 8,
          .micro_batch_size = 2,
          .recompute = "none",
          .placement = placement};
}

TEST(UnlikeRanks, HoldWhatThePlacementSays) {
  const Cluster cluster = of_kinds({0, 1, 0, 2});
  Arrangement c = of_size(2, 2);
  const Schedule schedule = schedule_of(c);
  EXPECT_THAT(kinds_of_replica(c, schedule, cluster, 0), ElementsAre(0, 1));
  EXPECT_THAT(kinds_of_replica(c, schedule, cluster, 1), ElementsAre(0, 2));
  EXPECT_EQ(distinct_kinds(c, schedule, cluster).size(), 2U);
  c.placement = "replicas";
  EXPECT_THAT(kinds_of_replica(c, schedule, cluster, 0), ElementsAre(0, 0));
  EXPECT_THAT(kinds_of_replica(c, schedule, cluster, 1), ElementsAre(1, 2));
  const Arrangement v{.stages = 4, .chunks = 2, .schedule = "zb-v"};
  EXPECT_THAT(kinds_of_replica(v, schedule_of(v), of_kinds({0, 1}), 0), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(distinct_kinds(c, schedule, {}), ElementsAre(ElementsAre(0, 0)));
}

TEST(UnlikeRanks, CountAsTheSlowestOfTheReplicas) {
  const Arrangement c = of_size(2, 2);
  const Cluster cluster = of_kinds({1, 0, 0, 1});
  EXPECT_THAT(slowest_kinds(c, schedule_of(c), two_kinds(4), cluster), ElementsAre(1, 1));
  Cluster memory = cluster;
  memory.memory_bytes = 70;
  memory.devices[1].memory_bytes = 50;
  memory.devices[2].memory_bytes = 80;
  EXPECT_THAT(memory_limits(c, memory), ElementsAre(70, 50));
}

TEST(UnlikeRanks, AreRefusedInAnotherNumber) {
  const Arrangement c = of_size(2, 2);
  try {
    (void)memory_limits(c, of_kinds({0, 1, 0}));
    FAIL();
  } catch (const std::invalid_argument& refusal) {
    EXPECT_STREQ(refusal.what(), "there are devices of 3 ranks, and 4 take part");
  }
}

TEST(UnlikeRanks, PlacedCostsAreThoseOfTheStagesDevices) {
  const ModelCosts costs = two_kinds(4);
  const auto placed = placed_costs(costs, {1, 3}, {1, 0});
  EXPECT_EQ(placed->layers[0].forward_s, 2);
  EXPECT_EQ(placed->layers[1].forward_s, 1);
  EXPECT_EQ(placed_costs(costs, {1, 3}, {0, 0}).get(), &costs);
  EXPECT_THROW((void)placed_costs(costs, {1, 2}, {1, 0}), std::invalid_argument);
}

TEST(UnlikeRanks, ASlowRankGetsFewerLayersAndItsStepIsWorkedOut) {
  Arrangement c = of_size(3, 1);
  const Schedule schedule = schedule_of(c);
  const Cluster cluster = of_kinds({0, 1, 0});
  c.split = choose_split(c, schedule, two_kinds(10), cluster).split;
  EXPECT_THAT(c.split, ElementsAre(4, 2, 4));
  // All stages take 12 s a micro-batch, as on three like ranks with 4 layers each.
  const double update_s = 1;
  EXPECT_EQ(predict(c, two_kinds(10), cluster).step.plain_s, (8 + 2) * 12 + update_s);
}

// The memory of one rank of the second replica is short.
TEST(UnlikeRanks, KeepTheLimitOfEachRank) {
  Arrangement c = of_size(2, 2);
  const Schedule schedule = schedule_of(c);
  Cluster cluster = of_kinds({0, 0, 0, 0});
  const ModelCosts costs = layers_at(8);
  const ChosenSplit free = choose_split(c, schedule, costs, cluster);
  EXPECT_THAT(free.split, ElementsAre(4, 4));
  cluster.devices[2].memory_bytes = free.memory[0].total() - 100;
  const ChosenSplit fitted = choose_split(c, schedule, costs, cluster);
  EXPECT_TRUE(fitted.fits);
  EXPECT_THAT(fitted.split, ElementsAre(3, 5));
  cluster.devices[3].memory_bytes = 2000;
  const ChosenSplit none = choose_split(c, schedule, costs, cluster);
  EXPECT_FALSE(none.fits);
  EXPECT_THAT(none.reason, HasSubstr("on rank 1, 1.953 KiB there"));
}

TEST(UnlikeRanks, NeedTheMemoryOfTheirOwnDevice) {
  ModelCosts costs = layers_at(4);
  costs.others = {layers_at(4)};
  costs.others[0].layers[3].workspace_bytes = 5000;
  Arrangement c = of_size(2, 2);
  c.split = {2, 2};
  const Schedule schedule = schedule_of(c);
  const auto like = fullest_memory(c, schedule, costs, {});
  const auto unlike = fullest_memory(c, schedule, costs, of_kinds({0, 0, 0, 1}));
  EXPECT_EQ(unlike[0].total(), like[0].total());
  EXPECT_EQ(unlike[1].total(), like[1].total() + 5000);
}

// One replica has its slow rank first, the other last: each waits for its own, and none for both.
TEST(UnlikeRanks, AStepIsThatOfTheSlowestReplica) {
  Arrangement c = of_size(2, 2);
  c.split = {2, 2};
  const ModelCosts costs = two_kinds(4);
  const auto step_of = [&](const std::vector<int>& kinds, int replicas) {
    c.replicas = replicas;
    return predict(c, costs, of_kinds(kinds)).step.plain_s;
  };
  const double crossed = step_of({1, 0, 0, 1}, 2);
  EXPECT_EQ(crossed, std::max(step_of({1, 0}, 1), step_of({0, 1}, 1)));
  EXPECT_LT(crossed, step_of({1, 1}, 1));
}

// One of two ranks works all the time, the other one half of it.
TEST(UnlikeRanks, TheBubbleIsThatOfAllReplicas) {
  Arrangement c = of_size(1, 2);
  c.split = {4};
  const ModelCosts costs = two_kinds(4);
  EXPECT_NEAR(predict(c, costs, of_kinds({0, 0})).bubble, 0, 1e-12);
  EXPECT_NEAR(predict(c, costs, of_kinds({0, 1})).bubble, 0.25, 1e-12);
  EXPECT_NEAR(predict(c, costs, of_kinds({1, 0})).bubble, 0.25, 1e-12);
}

// Where no message shares a card, and there are no sums, nodes make no difference.
TEST(UnlikeRanks, AreReplayedAsTheyAreSimulated) {
  std::mt19937 random(3);
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "zb-v"}) {
    const int chunks = std::string(name) == "zb-v" ? 2 : 1;
    Arrangement c = of_size(3 * chunks, 3);
    c.chunks = chunks;
    c.schedule = name;
    c.split.assign(c.stages, 2);
    ModelCosts costs = two_kinds(2 * c.stages);
    costs.others.push_back(layers_at(2 * c.stages, 1.5));
    for (ModelCosts* each : {&costs, costs.others.data(), &costs.others[1]}) {
      for (LayerCost& layer : each->layers) layer.gradient_bytes = 0;
    }
    const Schedule schedule = schedule_of(c);
    for (int trial = 0; trial < 20; ++trial) {
      Cluster together;
      together.within_node = {.latency = 0.125, .seconds_per_byte = 0.01};
      for (int rank = 0; rank < 9; ++rank) {
        together.devices.push_back({.kind = static_cast<int>(random() % 3)});
      }
      Cluster apart = together;
      apart.ranks_per_node = 3;
      apart.cards = 0;
      const double simulated = predict(c, schedule, costs, together).step.plain_s;
      const double replayed = replay_step(job_of(c, schedule, costs, apart)).step_s;
      EXPECT_NEAR(replayed, simulated, 1e-9 * simulated) << name << " " << trial;
    }
  }
}

TEST(UnlikeRanks, SearchedSchedulesReckonWithThem) {
  Arrangement c = of_size(3, 1);
  c.split = {3, 2, 3};
  Cluster cluster = of_kinds({0, 1, 0});
  const ModelCosts costs = two_kinds(8);
  const SearchProblem problem = search_problem(c, {0, 1, 2}, costs, cluster);
  EXPECT_EQ(problem.costs.stage[0].forward, 3);
  EXPECT_EQ(problem.costs.stage[1].forward, 4);
  EXPECT_THAT(problem.limit, IsEmpty());
  const SearchEffort little{.seed = 1, .instructions = 300'000, .seconds = 1000};
  const SearchedStep free = searched_step(c, costs, cluster, little);
  EXPECT_LE(free.prediction.step.mean_s, free.known_step_s + 1e-9);
  // The slow rank alone has a limit, and nothing goes beyond it.
  cluster.devices[1].memory_bytes = free.prediction.memory[1].total() - 1;
  const SearchedStep tight = searched_step(c, costs, cluster, little);
  EXPECT_LT(tight.prediction.memory[1].total(), free.prediction.memory[1].total());
  EXPECT_NO_THROW(check_certificate(tight.certificate));
}

// Two fast ranks, then two slow ones, in one node: the fast two are replicas of one another.
TEST(UnlikeRanks, APlanPlacesReplicasOnLikeRanks) {
  PlanRequest request;
  request.ranks = 4;
  request.mini_batch = 32;
  request.stages = 2;
  request.replicas = 2;
  request.chunks = 1;
  request.micro_batch_size = 2;
  request.schedule = "1f1b";
  request.recompute = "none";
  request.cluster = of_kinds({0, 0, 1, 1});
  request.costs = [](MicroBatches) { return two_kinds(9); };
  const Plan made = plan(request);
  ASSERT_NE(made.best(), nullptr);
  EXPECT_EQ(made.best()->candidate.placement, "replicas");
  EXPECT_THAT(made.best()->candidate.split, ElementsAre(6, 3));
}

// Each rank is a group; a pair's link takes `latency` and `seconds_per_byte`.
RankLinks links_of(int ranks, const std::map<std::pair<int, int>, OwnLink>& between) {
  RankLinks links{.group_of_rank = {}, .between = between};
  for (int rank = 0; rank < ranks; ++rank) links.group_of_rank.push_back(rank);
  return links;
}

TEST(UnlikeLinks, AMessageTakesTheTimeOfItsOwn) {
  Arrangement c = of_size(3, 1);
  c.micro_batches = 1;
  c.split = {1, 1, 1};
  const ModelCosts costs = layers_at(3);
  Cluster cluster;
  cluster.within_node = {.latency = 0.5};
  const double usual = predict(c, costs, cluster).step.plain_s;
  cluster.links = links_of(3, {{{1, 2}, {.latency = 2}}});
  EXPECT_EQ(predict(c, costs, cluster).step.plain_s, usual + 2 * (2 - 0.5));  // there and back
  cluster.links = links_of(3, {{{1, 2}, {.seconds_per_byte = 0.25}}});
  EXPECT_EQ(predict(c, costs, cluster).step.plain_s, usual + 2 * 100 * 0.25);
  cluster.links = links_of(3, {{{0, 2}, {.latency = 2}}});  // no message goes this way
  EXPECT_EQ(predict(c, costs, cluster).step.plain_s, usual);
}

TEST(UnlikeLinks, ASumTakesTheSlowestOfItsReplicas) {
  const LinkTimes usual{.latency = 1, .seconds_per_byte = 2};
  const RankLinks links =
      links_of(4, {{{0, 1}, {.latency = 5}}, {{2, 3}, {.seconds_per_byte = 0.5}}});
  EXPECT_EQ(links.slowest(std::vector{0, 1, 2}, usual).latency, 5);
  EXPECT_EQ(links.slowest(std::vector{0, 2, 3}, usual).latency, 1);
  EXPECT_EQ(links.slowest(std::vector{0, 2, 3}, usual).seconds_per_byte, 2);
  EXPECT_EQ(links.slowest(std::vector{2, 3}, usual).seconds_per_byte, 0.5);
  EXPECT_EQ(links.slowest(std::vector{2}, usual).seconds_per_byte, 2);
  Arrangement c = of_size(1, 2);
  c.split = {2};
  ModelCosts costs = layers_at(2);
  Cluster cluster;
  cluster.within_node = {.latency = 1, .seconds_per_byte = 0.5};
  const double slow = predict(c, costs, cluster).step.plain_s;
  cluster.within_node = {};
  cluster.links = links_of(2, {{{0, 1}, {.latency = 1, .seconds_per_byte = 0.5}}});
  EXPECT_EQ(predict(c, costs, cluster).step.plain_s, slow);
  EXPECT_NEAR(replay_step(job_of(c, costs, cluster)).step_s, slow, 1e-9);
}

TEST(UnlikeLinks, AreReplayedAsTheyAreSimulated) {
  std::mt19937 random(5);
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "zb-v"}) {
    const int chunks = std::string(name) == "zb-v" ? 2 : 1;
    Arrangement c = of_size(3 * chunks, 3);
    c.chunks = chunks;
    c.schedule = name;
    c.split.assign(c.stages, 2);
    ModelCosts costs = layers_at(2 * c.stages);
    for (LayerCost& layer : costs.layers) layer.gradient_bytes = 0;
    const Schedule schedule = schedule_of(c);
    for (int trial = 0; trial < 20; ++trial) {
      Cluster cluster;
      cluster.cards = 0;
      cluster.within_node = {.latency = 0.125, .seconds_per_byte = 0.01};
      cluster.between_nodes = cluster.within_node;
      cluster.links.group_of_rank = {};
      for (int rank = 0; rank < 9; ++rank) {
        cluster.links.group_of_rank.push_back(static_cast<int>(random() % 3));
      }
      const int first = static_cast<int>(random() % 3);
      const int second = static_cast<int>(random() % 3);
      const std::pair<int, int> pair = std::minmax(first, second);
      cluster.links.between[pair] = {.latency = 1 + double(random() % 4)};
      cluster.links.between[{0, 1}].seconds_per_byte = 0.02;
      const double simulated = predict(c, schedule, costs, cluster).step.plain_s;
      Cluster apart = cluster;
      apart.ranks_per_node = 2;
      for (const Cluster& one : {cluster, apart}) {
        const double replayed = replay_step(job_of(c, schedule, costs, one)).step_s;
        EXPECT_NEAR(replayed, simulated, 1e-9 * simulated) << name << " " << trial;
      }
    }
  }
}

// A message over a network card takes as long as its own link, where that is slower than the card.
TEST(UnlikeLinks, AreReplayedOverCards) {
  Arrangement c = of_size(2, 1);
  c.micro_batches = 1;
  c.split = {1, 1};
  const ModelCosts costs = layers_at(2);
  Cluster cluster;
  cluster.ranks_per_node = 1;
  cluster.between_nodes = {.latency = 0.5, .seconds_per_byte = 0.01};
  const double usual = predict(c, costs, cluster).step.plain_s;
  cluster.links = links_of(2, {{{0, 1}, {.latency = 1.5, .seconds_per_byte = 0.03}}});
  EXPECT_NEAR(predict(c, costs, cluster).step.plain_s, usual + 2 * (1 + 100 * 0.02), 1e-9);
  cluster.links = links_of(2, {{{0, 1}, {.seconds_per_byte = 0.001}}});  // the card is slower
  EXPECT_NEAR(predict(c, costs, cluster).step.plain_s, usual, 1e-9);
}

TEST(UnlikeLinks, SearchedSchedulesReckonWithThem) {
  Arrangement c = of_size(3, 2);
  c.split = {2, 2, 2};
  const ModelCosts costs = layers_at(6);
  Cluster cluster;
  cluster.within_node = {.latency = 0.5};
  cluster.links = links_of(6, {{{4, 5}, {.latency = 3}}});  // of the second replica
  const SearchProblem problem = search_problem(c, {0, 1, 2}, costs, cluster);
  ASSERT_EQ(problem.costs.boundary_link.size(), 2U);
  EXPECT_EQ(problem.costs.boundary_link[0].latency, 0.5);
  EXPECT_EQ(problem.costs.boundary_link[1].latency, 3);
  const SearchEffort little{.seed = 1, .instructions = 300'000, .seconds = 1000};
  const SearchedStep step = searched_step(c, costs, cluster, little);
  EXPECT_NO_THROW(check_certificate(step.certificate));
  cluster.links = {};
  EXPECT_LT(searched_step(c, costs, cluster, little).certificate.bound, step.certificate.bound);
}

// Pairs of ranks 0 and 2, and of 1 and 3, have fast links, so these are the pipelines.
TEST(UnlikeLinks, APlanPlacesPipelinesOnFastLinks) {
  PlanRequest request;
  request.ranks = 4;
  request.mini_batch = 32;
  request.stages = 2;
  request.replicas = 2;
  request.chunks = 1;
  request.micro_batch_size = 2;
  request.schedule = "1f1b";
  request.recompute = "none";
  request.cluster.links = {.group_of_rank = {0, 1, 0, 1}, .between = {{{0, 1}, {.latency = 4}}}};
  request.costs = [](MicroBatches) { return layers_at(9); };
  const Plan made = plan(request);
  ASSERT_NE(made.best(), nullptr);
  EXPECT_EQ(made.best()->candidate.placement, "replicas");
  request.ranks = 8;
  request.replicas = 4;
  EXPECT_EQ(plan(request).best(), nullptr);  // links are of another number of ranks
}

void try_splits(Arrangement& c, const Schedule& schedule, const ModelCosts& costs,
                const Cluster& cluster, int left, double& best) {
  const int missing = c.stages - static_cast<int>(c.split.size());
  if (missing == 1) {
    c.split.push_back(left);
    best = std::min(best, predict(c, schedule, costs, cluster).step.plain_s);
    c.split.pop_back();
    return;
  }
  for (int take = 1; take <= left - missing + 1; ++take) {
    c.split.push_back(take);
    try_splits(c, schedule, costs, cluster, left - take, best);
    c.split.pop_back();
  }
}

// Layers of random costs on devices none of which is a multiple of another: a bound stays below the
// step of every split, and the split that is chosen is near the best of all.
TEST(UnlikeRanks, SplitsAreNearTheBestAndBoundsBelowAll) {
  std::mt19937 random(7);
  const auto draw = [&] { return 0.2 + static_cast<double>(random() % 100) / 100; };
  double worst = 1;
  for (int trial = 0; trial < 60; ++trial) {
    const int stages = 2 + trial % 3;
    ModelCosts costs = layers_at(8);
    costs.others = {layers_at(8), layers_at(8)};
    for (ModelCosts* kind : {&costs, costs.others.data(), &costs.others[1]}) {
      for (LayerCost& layer : kind->layers) {
        layer.forward_s = draw();
        layer.backward_input_s = layer.backward_weight_s = layer.forward_s;
        layer.backward_s = 2 * layer.forward_s;
        layer.update_s = 0;
      }
    }
    Cluster cluster;
    for (int rank = 0; rank < stages; ++rank) {
      cluster.devices.push_back({.kind = static_cast<int>(random() % 3)});
    }
    Arrangement c = of_size(stages, 1);
    c.micro_batches = 16;
    const Schedule schedule = schedule_of(c);
    double best = std::numeric_limits<double>::infinity();
    try_splits(c, schedule, costs, cluster, 8, best);
    EXPECT_LE(least_step(c, costs, cluster), best * (1 + 1e-9));
    c.split = choose_split(c, schedule, costs, cluster).split;
    EXPECT_LE(least_split_step(c, schedule, costs, cluster),
              predict(c, schedule, costs, cluster).step.plain_s * (1 + 1e-9));
    worst = std::max(worst, predict(c, schedule, costs, cluster).step.plain_s / best);
  }
  EXPECT_LT(worst, 1.1);
}

}  // namespace
}  // namespace penstock
