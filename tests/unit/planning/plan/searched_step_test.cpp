// Searched schedules of whole steps: never slower than known ones, within the memory, and with a
// certificate of the very costs that the step is predicted by.
#include "runtime/planning/plan/searched_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "runtime/planning/plan/plan.h"
#include "runtime/planning/schedule/generators/known_schedules.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr double kRounding = 1e-9;
constexpr SearchEffort kLittle{.seed = 1, .instructions = 1'000'000, .seconds = 1000};

// Eight layers, of which the first takes thrice and the last twice as long as the others.
ModelCosts unlike_layers() {
  ModelCosts costs{.device = "test", .micro_batch_size = 2, .layers = {}};
  LayerCost layer;
  layer.forward_s = layer.backward_input_s = layer.backward_weight_s = 1;
  layer.backward_s = 2;
  layer.input_bytes = layer.output_bytes = 100;
  layer.tape_bytes = 1000;
  layer.weight_half_bytes = 300;
  layer.forward_peak_bytes = 200;
  layer.record_peak_bytes = 1200;
  layer.backward_peak_bytes = layer.backward_input_peak_bytes = 200;
  layer.parameter_bytes = layer.gradient_bytes = 20;
  costs.layers.assign(8, layer);
  const auto slower = [](LayerCost& of, double factor) {
    of.forward_s *= factor;
    of.backward_input_s *= factor;
    of.backward_weight_s *= factor;
    of.backward_s *= factor;
  };
  slower(costs.layers.front(), 3);
  slower(costs.layers.back(), 2);
  costs.layers.front().input_bytes = 0;
  costs.layers.back().output_bytes = 0;
  return costs;
}

Arrangement on_four_ranks(const std::string& recompute, int chunks = 1) {
  return {.stages = 4 * chunks,
          .chunks = chunks,
          .micro_batches = 8,
          .micro_batch_size = 2,
          .recompute = recompute,
          .split = chunks == 1 ? std::vector<int>{1, 2, 3, 2} : std::vector<int>(8, 1)};
}

double best_known(Arrangement candidate, const Cluster& cluster) {
  double best = std::numeric_limits<double>::infinity();
  for (const KnownSchedule& known : known_schedules()) {
    if (known.chunks != candidate.chunks) continue;
    candidate.schedule = known.name;
    const Prediction with = predict(candidate, unlike_layers(), cluster);
    if (!lack_of_memory(with.memory, cluster.memory_bytes).empty()) continue;
    best = std::min(best, with.step.mean_s);
  }
  return best;
}

TEST(SearchedStep, IsNoSlowerThanAnyKnownScheduleAndPredictedAsItIsSearched) {
  for (const int chunks : {1, 2}) {
    for (const char* recompute : {"none", "stage", "layer"}) {
      SCOPED_TRACE(std::string(recompute) + ", chunks " + std::to_string(chunks));
      const Arrangement candidate = on_four_ranks(recompute, chunks);
      const SearchedStep found = searched_step(candidate, unlike_layers(), {}, kLittle);
      const double known = best_known(candidate, {});
      if (!found.is_known) {
        EXPECT_NEAR(found.known_step_s, known, kRounding);
      }
      EXPECT_LE(found.prediction.step.mean_s, (1 + kNearlyAsFast) * known);
      EXPECT_EQ(found.candidate.schedule, kSearched);
      // A step without replicas and updates is its passes and messages.
      EXPECT_NEAR(found.certificate.makespan, found.prediction.step.plain_s, kRounding);
      EXPECT_LE(found.certificate.bound, found.certificate.makespan);
      EXPECT_NO_THROW(check_certificate(found.certificate));
      // The text is the schedule: it gives the same prediction.
      EXPECT_EQ(predict(found.candidate, unlike_layers(), {}).step.mean_s,
                found.prediction.step.mean_s);
    }
  }
}

TEST(SearchedStep, FindsAFasterOrderForUnlikeStages) {
  Cluster cluster;
  cluster.within_node.latency = 0.7;
  const SearchedStep found =
      searched_step(on_four_ranks("none", 2), unlike_layers(), cluster, kLittle);
  EXPECT_LT(found.prediction.step.mean_s, 0.97 * found.known_step_s);
  EXPECT_FALSE(found.is_known);
  EXPECT_FALSE(found.ended_by_clock);
}

// Stages that are placed by hand stay there, with unequal numbers on the ranks, and no order of the
// known schedule that can have them is faster.
TEST(SearchedStep, KeepsStagesOnTheirRanks) {
  for (const char* recompute : {"none", "stage", "layer"}) {
    SCOPED_TRACE(recompute);
    Arrangement candidate = on_four_ranks(recompute);
    candidate.stages = 6;
    candidate.stage_ranks = {0, 1, 2, 3, 1, 2};
    candidate.chunks = 2;
    candidate.split = {1, 1, 1, 3, 1, 1};
    const SearchedStep found = searched_step(candidate, unlike_layers(), {}, kLittle);
    EXPECT_EQ(found.certificate.schedule.rank_of_stage, candidate.stage_ranks);
    EXPECT_NO_THROW(check_certificate(found.certificate));
    EXPECT_EQ(found.candidate.ranks(), 4);
    EXPECT_EQ(found.known, "looped-bfs");
    candidate.schedule = found.known;
    const double known = predict(candidate, unlike_layers(), {}).step.mean_s;
    EXPECT_LE(found.prediction.step.mean_s, (1 + kNearlyAsFast) * known);
    if (!found.is_known) {
      EXPECT_NEAR(found.known_step_s, known, kRounding);
    }
    const SearchedStep again = found_step(candidate, found.certificate, unlike_layers(), {});
    EXPECT_EQ(again.candidate.csv, found.candidate.csv);
    EXPECT_EQ(again.prediction.step.mean_s, found.prediction.step.mean_s);
  }
}

TEST(SearchedStep, IsTheSameEveryTime) {
  const Arrangement candidate = on_four_ranks("stage", 2);
  EXPECT_EQ(searched_step(candidate, unlike_layers(), {}, kLittle).candidate.csv,
            searched_step(candidate, unlike_layers(), {}, kLittle).candidate.csv);
}

// What a plan recommends has the order, and so the memory, of the run that follows it.
TEST(SearchedStep, APlanRecommendsWhatARunFinds) {
  PlanRequest request;
  request.ranks = 4;
  request.mini_batch = 24;
  request.cluster.within_node.latency = 3;
  request.costs = [](MicroBatches) { return unlike_layers(); };
  request.stages = 8;
  request.chunks = 2;
  request.micro_batch_size = 2;
  request.schedule = kSearched;
  request.recompute = "none";
  request.split = std::vector<int>(8, 1);
  const Plan found = plan(request);
  ASSERT_NE(found.best(), nullptr);
  const Arrangement& best = found.best()->candidate;
  const SearchedStep run = searched_step(best, unlike_layers(), request.cluster, kRunEffort);
  EXPECT_EQ(best.csv, run.candidate.csv);
  EXPECT_EQ(found.best()->prediction.fullest_bytes(), run.prediction.fullest_bytes());
}

TEST(SearchedStep, StaysWithinTheMemory) {
  const Arrangement candidate = on_four_ranks("none");
  const SearchedStep free = searched_step(candidate, unlike_layers(), {}, kLittle);
  Cluster cluster;
  for (const double share : {0.9, 0.7, 0.6}) {
    SCOPED_TRACE(share);
    cluster.memory_bytes =
        static_cast<int64_t>(share * static_cast<double>(free.prediction.fullest_bytes()));
    const SearchedStep found = searched_step(candidate, unlike_layers(), cluster, kLittle);
    EXPECT_LE(found.prediction.fullest_bytes(), cluster.memory_bytes);
    EXPECT_GE(found.prediction.step.mean_s, (1 - kNearlyAsFast) * free.prediction.step.mean_s);
    EXPECT_LE(found.prediction.step.mean_s, (1 + kNearlyAsFast) * best_known(candidate, cluster));
    EXPECT_NO_THROW(check_certificate(found.certificate));
  }
  cluster.memory_bytes = 2000;
  try {
    (void)searched_step(candidate, unlike_layers(), cluster, kLittle);
    FAIL() << "nothing fits";
  } catch (const std::invalid_argument& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("on rank 2"));
  }
}

// Replicas on two nodes: sums, updates and cards are in the prediction, not in the search.
TEST(SearchedStep, ReckonsWithNodesReplicasAndSkips) {
  ModelCosts costs = unlike_layers();
  for (LayerCost& layer : costs.layers) layer.update_s = 0.5;
  costs.skips = {{.from_layer = 0, .to_layer = 5, .bytes = 50}};
  Arrangement candidate = on_four_ranks("stage");
  candidate.replicas = 2;
  Cluster cluster{.within_node = {.latency = 0.1, .seconds_per_byte = 1e-3},
                  .between_nodes = {.latency = 0.5, .seconds_per_byte = 1e-2},
                  .ranks_per_node = 2};
  const SearchedStep found = searched_step(candidate, costs, cluster, kLittle);
  EXPECT_LE(found.prediction.step.mean_s, found.known_step_s + kRounding);
  EXPECT_EQ(found.certificate.problem.costs.node_of_rank, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_LT(found.certificate.makespan, found.prediction.step.plain_s);
}

// Where an order was found that is a little faster than a known schedule, it needs no more memory.
TEST(SearchedStep, NeedsNoMoreMemoryThanAKnownScheduleThatIsNearlyAsFast) {
  for (const char* recompute : {"none", "layer"}) {
    for (const double latency : {0.0, 0.005, 0.01, 0.02, 0.05}) {
      Cluster cluster;
      cluster.within_node.latency = latency;
      Arrangement candidate = on_four_ranks(recompute);
      const SearchedStep found = searched_step(candidate, unlike_layers(), cluster, kLittle);
      if (found.is_known) continue;
      const double most_s = (1 + kNearlyAsFast) * found.prediction.step.mean_s;
      for (const KnownSchedule& known : known_schedules()) {
        if (known.chunks != 1) continue;
        candidate.schedule = known.name;
        const Prediction with = predict(candidate, unlike_layers(), cluster);
        if (with.step.mean_s > most_s) continue;
        EXPECT_GE(with.fullest_bytes(), found.prediction.fullest_bytes())
            << known.name << ", latency " << latency;
      }
    }
  }
}

// All orders of one rank end at the same time; gpipe keeps eight tapes, 1f1b one.
TEST(SearchedStep, NeedsLittleMemoryWhereThatCostsNoTime) {
  Arrangement candidate = on_four_ranks("none");
  candidate.stages = 1;
  candidate.split = {8};
  const SearchedStep found = searched_step(candidate, unlike_layers(), {}, kLittle);
  candidate.schedule = "1f1b";
  EXPECT_EQ(found.prediction.fullest_bytes(),
            predict(candidate, unlike_layers(), {}).fullest_bytes());
}

TEST(SearchedStep, OfAnEarlierAnswerIsThatAnswer) {
  const Arrangement candidate = on_four_ranks("stage");
  const SearchedStep found = searched_step(candidate, unlike_layers(), {}, kLittle);
  const SearchedStep again = found_step(candidate, found.certificate, unlike_layers(), {});
  EXPECT_EQ(again.candidate.csv, found.candidate.csv);
  EXPECT_EQ(again.prediction.step.mean_s, found.prediction.step.mean_s);
}

}  // namespace
}  // namespace penstock
