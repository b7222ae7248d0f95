// What ranks need beside the tensors of a training step: copies for checkpoints, passes over
// validation data, skips, audits.
#include "runtime/planning/plan/memory/rank_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/planning/plan/predict.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

// 100 bytes pass between layers, 1000 stay on a tape; a checkpoint has 20 bytes of weights and 40
// of states.
LayerCost layer_with_states() {
  LayerCost cost;
  cost.forward_s = 1;
  cost.backward_s = 2;
  cost.input_bytes = 100;
  cost.output_bytes = 100;
  cost.tape_bytes = 1000;
  cost.forward_peak_bytes = 200;
  cost.record_peak_bytes = 1200;
  cost.backward_peak_bytes = 200;
  cost.parameter_bytes = 20;
  cost.gradient_bytes = 20;
  cost.optimizer_bytes = 40;
  cost.saved_weight_bytes = 20;
  cost.saved_state_bytes = 40;
  return cost;
}

ModelCosts four_layers() {
  ModelCosts costs{.device = "test", .micro_batch_size = 2, .layers = {}};
  costs.layers.assign(4, layer_with_states());
  costs.layers.front().input_bytes = 0;
  costs.layers.back().output_bytes = 0;
  return costs;
}

Arrangement two_stages(int replicas = 1) {
  return {.stages = 2,
          .replicas = replicas,
          .micro_batches = 4,
          .micro_batch_size = 2,
          .recompute = "none",
          .split = {2, 2},
          .shared = true};
}

RankMemory first_rank(const Arrangement& candidate, const ModelCosts& costs = four_layers()) {
  return predict(candidate, costs, {}).memory[0];
}

// Two layers have shards of 40, 40, 20 and 20 bytes, which go to the replica with the fewest.
TEST(RankMemory, ReplicasDivideTheShardsOfACheckpoint) {
  EXPECT_THAT(first_rank(two_stages(2)).saved.all, ElementsAre(60, 60));
  EXPECT_THAT(first_rank(two_stages(3)).saved.all, ElementsAre(40, 40, 40));
  EXPECT_THAT(first_rank(two_stages(3)).saved.states, ElementsAre(40, 40, 0));
  ModelCosts uneven = four_layers();
  uneven.layers[0].saved_state_bytes = 400;
  EXPECT_THAT(first_rank(two_stages(2), uneven).saved.all, ElementsAre(400, 80));
  EXPECT_EQ(first_rank(two_stages(2), uneven).copy(), 400);
}

// States that replicas share are put together even for the last checkpoint, for which training
// stands still; whole copies are taken only on the way.
TEST(RankMemory, HasCopiesOfWhatIsWrittenOnTheWay) {
  Arrangement c = two_stages(2);
  EXPECT_THAT(first_rank(c).snapshot, ElementsAre(40, 40));
  c.shared = false;
  EXPECT_THAT(first_rank(c).snapshot, ElementsAre(0, 0));
  c.upkeep.steps = 10;
  c.upkeep.checkpoint_steps = 10;
  EXPECT_THAT(first_rank(c).snapshot, ElementsAre(0, 0)) << "the last step's is no copy";
  c.upkeep.checkpoint_steps = 9;
  EXPECT_THAT(first_rank(c).snapshot, ElementsAre(60, 60));
  EXPECT_EQ(first_rank(c).total() - first_rank(c).of_tensors(), 60);
}

// A run that may last four times as long as it is predicted to has a checkpoint by the clock.
TEST(RankMemory, HasCopiesWhereTheRunIsLongEnough) {
  Arrangement c = two_stages();
  c.upkeep.steps = 10;
  const double run_s = 10 * predict(c, four_layers(), {}).step.mean_s;
  c.upkeep.checkpoint_s = 4.1 * run_s;
  EXPECT_THAT(first_rank(c).snapshot, ElementsAre(0));
  c.upkeep.checkpoint_s = 3.9 * run_s;
  EXPECT_THAT(first_rank(c).snapshot, ElementsAre(120));
}

TEST(RankMemory, CountsCopiesOfADeviceWithItsOwnMemoryForTheHost) {
  Arrangement c = two_stages(2);
  c.upkeep.checkpoint_steps = 1;
  ModelCosts costs = four_layers();
  costs.own_memory = true;
  const RankMemory memory = first_rank(c, costs);
  EXPECT_THAT(memory.snapshot, ElementsAre(60, 60));
  EXPECT_EQ(memory.total(), memory.of_tensors());
  EXPECT_EQ(memory.total(1), memory.of_tensors());
}

TEST(RankMemory, ReplicasDifferByTheirCopies) {
  Arrangement c = two_stages(3);
  const RankMemory memory = first_rank(c);
  EXPECT_EQ(memory.total(0), memory.of_tensors() + 40);
  EXPECT_EQ(memory.total(2), memory.of_tensors());
  EXPECT_EQ(memory.total(), memory.total(0));
}

// A micro-batch of 50 samples, not 2, makes an evaluation what fills the first rank: four messages
// of 2500 bytes that nobody has taken for certain.
TEST(RankMemory, CountsEvaluations) {
  Arrangement c = two_stages();
  const int64_t training = first_rank(c).activations;
  c.upkeep.evaluates = true;
  EXPECT_EQ(first_rank(c).activations, training);
  c.upkeep.evaluation_batch = 50;
  const int64_t forward = 200 * 25;
  EXPECT_EQ(predict(c, four_layers(), {}).memory[0].activations, forward);
  Cluster by_mpi;
  by_mpi.sends_hold = true;
  EXPECT_EQ(predict(c, four_layers(), by_mpi).memory[0].activations, 3 * 2500 + forward);
}

// A skip from the first layer to the third goes with the tuple of the boundary, and its gradient
// comes back with it.
TEST(RankMemory, CountsSkipsBetweenNeighbours) {
  const Arrangement c = two_stages();
  ModelCosts costs = four_layers();
  costs.skips = {{.from_layer = 0, .to_layer = 2, .bytes = 64}};
  const RankMemory with = first_rank(c, costs);
  const RankMemory without = first_rank(c);
  EXPECT_GE(with.activations - without.activations, 2 * 64);  // one way and back
  EXPECT_LE(with.activations - without.activations, 4 * 64);
}

// What the first stage's micro-batch was given, the gradient of its outputs, stays until the second
// execution.
TEST(RankMemory, CountsWhatAnAuditKeeps) {
  Arrangement c = two_stages();
  const int64_t plain = first_rank(c).activations;
  c.audit = 1;
  EXPECT_EQ(first_rank(c).activations, plain + 100);
}

}  // namespace
}  // namespace penstock
