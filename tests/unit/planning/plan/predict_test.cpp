// Predictions against what can be worked out by hand.
#include "runtime/planning/plan/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "runtime/planning/plan/split.h"
#include "runtime/planning/plan/stages/stage_costs.h"
#include "runtime/planning/replay/replay_step.h"
#include "tests/support/processor_time.h"

namespace penstock {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Forward 1 s, backward 2 s; 100 bytes pass between layers, 1000 stay on a layer's tape.
LayerCost layer() {
  LayerCost cost;
  cost.parameters = 5;
  cost.forward_s = 1;
  cost.backward_input_s = 1;
  cost.backward_weight_s = 1;
  cost.backward_s = 2;
  cost.input_bytes = 100;
  cost.output_bytes = 100;
  cost.tape_bytes = 1000;
  cost.weight_half_bytes = 300;
  cost.forward_peak_bytes = 200;
  cost.record_peak_bytes = 1200;
  cost.backward_peak_bytes = 200;
  cost.backward_input_peak_bytes = 200;
  cost.parameter_bytes = 20;
  cost.gradient_bytes = 20;
  cost.optimizer_bytes = 40;
  cost.saved_weight_bytes = 20;
  cost.saved_state_bytes = 40;
  return cost;
}

ModelCosts network(int layers) {
  ModelCosts costs{.device = "test", .micro_batch_size = 2, .layers = {}};
  costs.layers.assign(layers, layer());
  costs.layers.front().input_bytes = 0;
  costs.layers.back().output_bytes = 0;
  return costs;
}

Arrangement candidate(const char* schedule, const char* recompute) {
  return {.stages = 4,
          .micro_batches = 8,
          .micro_batch_size = 2,
          .schedule = schedule,
          .recompute = recompute,
          .split = {2, 2, 2, 2}};
}

// Rank 0 of four keeps four of eight micro-batches in flight, and two more are on their way; the
// last rank keeps one. A field that two layers read comes once.
TEST(Predict, CountsTheDataThatAreCopiedToADevice) {
  const Arrangement c = candidate("1f1b", "stage");
  ModelCosts costs = network(8);
  const std::vector<RankMemory> without = predict_memory(c, schedule_of(c), costs);
  costs.layers[0].reads = {{"tokens", 64}};
  costs.layers[6].reads = {{"labels", 128}};
  costs.layers[7].reads = {{"labels", 128}, {"weights", 64}};
  const std::vector<RankMemory> with = predict_memory(c, schedule_of(c), costs);
  EXPECT_EQ(with[0].workspace - without[0].workspace, 64 * (4 + 2));
  EXPECT_EQ(with[1].total(), without[1].total());
  EXPECT_EQ(with[3].workspace - without[3].workspace, (128 + 64) * (1 + 2));
}

TEST(Predict, TakesTheTimesOfTheClosedForms) {
  for (const char* schedule : {"gpipe", "1f1b"}) {
    const Prediction p = predict(candidate(schedule, "none"), network(8), {});
    EXPECT_EQ(p.step.plain_s, 11 * 6.0) << schedule;
    EXPECT_EQ(p.bubble, 3.0 / 11) << schedule;
    EXPECT_EQ(p.samples_per_s, 16 / 66.0);
    EXPECT_EQ(p.exposed_communication_s, 0);
  }
  // T = (M + K - 1) F + M (R + B) + (K - 1) B.
  EXPECT_EQ(predict(candidate("gpipe", "stage"), network(8), {}).step.plain_s, 2 * 41);
}

TEST(Predict, ModeLayerRunsAllButTheLastLayerInsideTheBackward) {
  const StageTimes times = stage_times(network(3).layers, "layer");
  EXPECT_EQ(times.forward, 3);
  EXPECT_EQ(times.recompute, 1);
  EXPECT_EQ(times.backward, 6 + 2);
  EXPECT_EQ(times.backward_input, 3 + 2);
  EXPECT_EQ(times.backward_weight, 3);
}

TEST(Predict, CountsWhatEveryRankHolds) {
  const std::vector<RankMemory> memory = predict(candidate("1f1b", "none"), network(8), {}).memory;
  ASSERT_EQ(memory.size(), 4U);
  EXPECT_EQ(memory[0].parameters, 40);
  EXPECT_EQ(memory[0].optimizer, 80);
  EXPECT_EQ(memory[0].communication, 0);
  for (int r = 0; r < 4; ++r) {  // p - r tapes, and less than one more for what is at work
    EXPECT_GE(memory[r].activations, (4 - r) * 2000);
    EXPECT_LT(memory[r].activations, (5 - r) * 2000);
  }
}

TEST(Predict, EveryVerbEndsWithWhatItFound) {
  for (const char* recompute : {"none", "stage", "layer"}) {
    const std::vector<LayerCost> layers(3, layer());
    const StageMemory m = stage_memory(layers, recompute);
    // Outputs go and their gradient comes, as large; of the inputs likewise.
    EXPECT_EQ(m.forward.held + m.recompute.held + m.backward.held, 0) << recompute;
    EXPECT_EQ(m.backward.held, m.backward_input.held + m.backward_weight.held) << recompute;
    if (std::string(recompute) != "layer") {
      EXPECT_EQ(m.forward_keep.held, m.forward.held + m.recompute.held) << recompute;
    }
  }
}

TEST(Predict, RecomputingTradesTapesForInputs) {
  const auto activations = [](const char* mode) {
    return predict(candidate("gpipe", mode), network(8), {}).memory[1].activations;
  };
  EXPECT_LT(activations("stage"), activations("none") / 3);
  EXPECT_LT(activations("layer"), activations("none") / 3);
}

TEST(Predict, GradientsAreSummedInBucketsFromTheLastLayerOn) {
  std::vector<LayerCost> layers(4, layer());
  const auto buckets = gradient_buckets(layers, "none", false, 40);
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].ready, 0.5);
  EXPECT_EQ(buckets[0].bytes, 40);
  EXPECT_EQ(buckets[1].ready, 1.0);
  EXPECT_THAT(gradient_buckets(layers, "none", false, 1e9).size(), 1U);
}

TEST(Predict, NodesDecideWhichLinkAMessageTakes) {
  Cluster cluster;
  cluster.between_nodes.latency = 0.25;
  Arrangement c = candidate("gpipe", "none");
  EXPECT_EQ(predict(c, network(8), cluster).exposed_communication_s, 0);
  cluster.ranks_per_node = 2;
  EXPECT_EQ(predict(c, network(8), cluster).exposed_communication_s, 2 * 0.25);
  c.replicas = 2;  // by replicas, neighbours of a pipeline are on 4 nodes
  c.placement = "replicas";
  EXPECT_GE(predict(c, network(8), cluster).exposed_communication_s, 3 * 2 * 0.25);
}

// The bytes that pass are as many as without sharing, half of them after the update, of which each
// makes a fourth. What passes then is hidden where it comes late.
TEST(Predict, ReplicasThatShareUpdatesHaveAFourthOfThemAndOfTheirState) {
  Cluster cluster;
  cluster.within_node.seconds_per_byte = 0.125;
  Arrangement c = candidate("gpipe", "none");
  c.replicas = 4;
  ModelCosts costs = network(8);
  for (LayerCost& layer : costs.layers) layer.update_s = 2;
  const Prediction whole = predict(c, costs, cluster);
  c.shared = true;
  const Prediction shared = predict(c, costs, cluster);
  EXPECT_EQ(whole.memory[0].optimizer, 80);
  EXPECT_EQ(shared.memory[0].optimizer, 20);
  EXPECT_EQ(job_of(c, costs, cluster).costs.updates_are_shared, true);
  EXPECT_EQ(replay_step(job_of(c, costs, cluster)).step_s, shared.step.plain_s);
  cluster.late_weights = false;
  const Prediction waits = predict(c, costs, cluster);
  EXPECT_EQ(whole.step.plain_s - waits.step.plain_s, 4 - 1);
  EXPECT_EQ(waits.step.plain_s - shared.step.plain_s, 2);
  EXPECT_EQ(replay_step(job_of(c, costs, cluster)).step_s, waits.step.plain_s);
}

// What is not cut may fall to one replica beside its share; what an update needs meanwhile is there
// once a rank, whatever replicas share.
TEST(Predict, ReplicasHaveAMatrixTooMuchAndScratchOnce) {
  Arrangement c = candidate("gpipe", "none");
  c.replicas = 4;
  ModelCosts costs = network(8);
  for (LayerCost& layer : costs.layers) {
    layer.whole_bytes = 10;  // half of the weights, and so of the states
    layer.update_scratch_bytes = 70;
  }
  costs.layers[1].update_scratch_bytes = 90;
  const RankMemory whole = predict(c, costs, {}).memory[0];
  EXPECT_EQ(whole.optimizer, 80);
  EXPECT_EQ(whole.workspace, predict(c, network(8), {}).memory[0].workspace + 90);
  c.shared = true;
  const RankMemory shared = predict(c, costs, {}).memory[0];
  EXPECT_EQ(shared.optimizer, 20 + 20);
  EXPECT_EQ(shared.workspace, whole.workspace);
  c.replicas = 2;
  for (LayerCost& layer : costs.layers) layer.whole_bytes = layer.gradient_bytes;
  EXPECT_EQ(predict(c, costs, {}).memory[0].optimizer, 80);  // two parameters, a replica each
}

// Pipelines of three ranks on nodes of four: replica 0 is on one node, replica 1 begins on it and
// ends on the next. The step is that of the slowest.
TEST(Predict, NodesCutUpReplicasDifferently) {
  Cluster cluster;
  cluster.between_nodes.latency = 0.25;
  cluster.ranks_per_node = 4;
  Arrangement c = candidate("gpipe", "none");
  c.stages = 3;
  c.split = {2, 2, 2};
  ModelCosts costs = network(6);
  for (LayerCost& layer : costs.layers) layer.gradient_bytes = 0;  // nothing to sum
  EXPECT_EQ(predict(c, costs, cluster).exposed_communication_s, 0);
  c.replicas = 2;
  EXPECT_EQ(predict(c, costs, cluster).exposed_communication_s, 2 * 0.25);
  EXPECT_EQ(predict(c, costs, cluster).step.plain_s, 10 * 6 + 2 * 0.25);
}

// All eight ranks of a node sum their gradients through one card: seven eighths of a second each.
TEST(Predict, ShareTheCardsOfTheirNodes) {
  Cluster cluster;
  cluster.ranks_per_node = 8;
  cluster.between_nodes.seconds_per_byte = 1.0 / 40;
  Arrangement c{.replicas = 16, .micro_batches = 1, .micro_batch_size = 2, .recompute = "none"};
  c.split = {2};
  const auto step = [&] { return predict(c, network(2), cluster).step; };
  constexpr double kAway = 8.0 / 15;  // of what a rank sends, what leaves its node
  const double sum = 2 * 15.0 / 16;
  EXPECT_NEAR(step().plain_s, 6 + 8 * kAway * sum, 1e-9);
  EXPECT_EQ(step().plain_s, replay_step(job_of(c, network(2), cluster)).step_s);
  cluster.cards = 8;
  EXPECT_NEAR(step().plain_s, 6 + sum, 1e-9);
  cluster.cards = 0;
  EXPECT_NEAR(step().plain_s, 6 + sum, 1e-9);
  // An audit, of one micro-batch for this replica and another, takes as long as without the cards.
  c.audit = 4;
  const double audit_s = step().audited_s - step().plain_s;
  EXPECT_GT(audit_s, 6);
  cluster.cards = 1;
  EXPECT_NEAR(step().audited_s - step().plain_s, audit_s, 1e-9);
  EXPECT_NEAR(step().mean_s - step().plain_s, audit_s / 4, 1e-9);
}

// The replay has a barrier: what its cards add is added to a step that has none.
TEST(Predict, CardsDelayAStepWithoutABarrierAsOneWithIt) {
  Cluster cluster;
  cluster.ranks_per_node = 4;
  cluster.between_nodes.seconds_per_byte = 0.125;
  Arrangement c = candidate("zb-h2", "none");
  c.replicas = 2;
  c.placement = "replicas";
  const auto step_s = [&](bool barrier, int cards) {
    c.barrier = barrier;
    cluster.cards = cards;
    return predict(c, network(8), cluster).step.plain_s;
  };
  const double delay = step_s(true, 1) - step_s(true, 0);
  EXPECT_GT(delay, 0);
  EXPECT_LT(step_s(false, 0), step_s(true, 0));
  EXPECT_NEAR(step_s(false, 1) - step_s(false, 0), delay, 1e-9);
}

// The copies by which updates are taken back are no state of the run.
TEST(Predict, CopiesOfTheStateAreAsLargeWithoutABarrier) {
  for (const bool shared : {false, true}) {
    Arrangement c = candidate("1f1b", "none");
    c.replicas = 2;
    c.shared = shared;
    const RankMemory with = predict(c, network(8), {}).memory[0];
    c.barrier = false;
    const RankMemory without = predict(c, network(8), {}).memory[0];
    EXPECT_EQ(without.total() - with.total(), (80 + 40) / (shared ? 2 : 1));
    EXPECT_EQ(without.copy(), with.copy());
    EXPECT_EQ(with.copy(), 40 / 2 + 80 / 2);
  }
}

// Where links do not copy, the plan counts what they hold: 16 messages of each of
// two edges where looped-bfs goes 2 x 32.
TEST(Predict, CountsTheMessagesThatLinksHold) {
  Arrangement c = candidate("looped-bfs", "none");
  c.stages = 4;
  c.chunks = 2;
  c.micro_batches = 32;
  const Schedule schedule = schedule_of(c);
  Cluster cluster;
  EXPECT_EQ(transport_of(cluster, schedule).window, TransportRules::kSendsNeverWait);
  const Prediction free = predict(c, network(8), cluster);
  cluster.sends_wait = true;
  EXPECT_EQ(transport_of(cluster, schedule).window, 16);
  const Prediction held = predict(c, network(8), cluster);
  EXPECT_EQ(held.memory[0].activations - free.memory[0].activations, 2 * 16 * 100);
  EXPECT_GE(held.step.plain_s, free.step.plain_s);
  ASSERT_EQ(held.bytes.size(), 2U);
  EXPECT_EQ(held.bytes[0].size(), held.timeline.rank[0].size());
}

// Layers before the first that is trained are never differentiated: they keep nothing, and nobody
// runs them again.
TEST(Predict, LayersThatAreNeverDifferentiatedKeepNothing) {
  std::vector<LayerCost> layers(4, layer());
  for (size_t l = 0; l < 3; ++l) {
    layers[l].differentiated = false;
    layers[l].tape_bytes = layers[l].weight_half_bytes = 0;
    layers[l].backward_input_s = layers[l].backward_weight_s = layers[l].backward_s = 0;
  }
  const StageTimes times = stage_times(layers, "stage");
  EXPECT_EQ(times.forward, 4);
  EXPECT_EQ(times.recompute, 1);
  EXPECT_EQ(times.backward, 2);
  EXPECT_EQ(stage_times(layers, "layer").backward, 2);
  for (const char* recompute : {"none", "stage", "layer"}) {
    for (size_t first = 0; first < 4; ++first) {  // that many of the stage's layers are trained
      const std::vector<LayerCost> some(layers.begin(), layers.end() - static_cast<long>(first));
      const StageMemory m = stage_memory(some, recompute);
      EXPECT_EQ(m.forward.held + m.recompute.held + m.backward.held, 0) << recompute;
      EXPECT_EQ(m.backward.held, m.backward_input.held + m.backward_weight.held) << recompute;
      if (first == 0) continue;  // else no layer is trained: the outputs are there, and no inputs
      EXPECT_EQ(m.forward.held, 0) << recompute;
      EXPECT_EQ(m.forward_keep.held, 0) << recompute;
      EXPECT_EQ(m.recompute.peak, 0) << recompute;
      EXPECT_EQ(stage_times(some, recompute).recompute, 0) << recompute;
    }
  }
}

TEST(Predict, RefusesCostsAndSplitsOfAnotherRun) {
  const auto message = [](const Arrangement& c) -> std::string {
    try {
      (void)predict(c, network(8), {});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  Arrangement c = candidate("gpipe", "none");
  EXPECT_EQ(message(c), "");
  c.micro_batch_size = 4;
  EXPECT_THAT(message(c), HasSubstr("micro-batches of 2 samples, not of 4"));
  c = candidate("gpipe", "none");
  c.split = {2, 2, 2, 1};
  EXPECT_THAT(message(c), HasSubstr("add up to 8"));
}

TEST(ChooseSplit, GivesTheFirstStagesLessWhereMemoryIsShort) {
  Arrangement c = candidate("1f1b", "none");
  c.stages = 2;
  c.split = {};
  const ModelCosts costs = network(8);
  const Schedule schedule = schedule_of(c);
  const ChosenSplit free = choose_split(c, schedule, costs, {});
  EXPECT_THAT(free.split, ElementsAre(4, 4));
  const int64_t tight = free.memory[0].total() - 100;
  const ChosenSplit fitted = choose_split(c, schedule, costs, {.memory_bytes = tight});
  EXPECT_TRUE(fitted.fits) << fitted.reason;
  EXPECT_THAT(fitted.split, ElementsAre(3, 5));
  const ChosenSplit none = choose_split(c, schedule, costs, {.memory_bytes = 2000});
  EXPECT_FALSE(none.fits);
  EXPECT_THAT(none.reason, ContainsRegex("needs [0-9.]+ KiB on rank [01], 1.953 KiB there"));
}

// What each rank holds is counted once along its program, not once more for every stage and stash:
// here that would be 40,000 million steps.
TEST(ChooseSplit, TakesNoLongerThanTheScheduleIsLong) {
  Arrangement c{.stages = 16000, .micro_batches = 160, .micro_batch_size = 2, .schedule = "gpipe"};
  c.recompute = "none";
  const Schedule schedule = schedule_of(c);
  const ModelCosts costs = network(16000);
  const double start = processor_seconds();
  EXPECT_EQ(choose_split(c, schedule, costs, {}).split, std::vector<int>(16000, 1));
  EXPECT_LT(processor_seconds() - start, 30);
}

}  // namespace
}  // namespace penstock
