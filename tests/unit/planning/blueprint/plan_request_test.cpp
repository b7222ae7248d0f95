// The run's configuration as the planner sees it, and a plan's candidate as a run.
#include "runtime/planning/blueprint/plan_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/planning/blueprint/programs.h"
#include "runtime/planning/costs/interconnects.h"
#include "runtime/planning/costs/layer_costs.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/text/csv.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using testing::HasSubstr;

Arrangement chunked() {
  return {.stages = 8,
          .replicas = 3,
          .chunks = 4,
          .micro_batches = 6,
          .micro_batch_size = 5,
          .schedule = "interleaved-1f1b",
          .recompute = "layer",
          .split = {1, 2, 3, 4, 4, 3, 2, 1}};
}

void expect_equal(const Arrangement& a, const Arrangement& b) {
  EXPECT_EQ(a.stages, b.stages);
  EXPECT_EQ(a.replicas, b.replicas);
  EXPECT_EQ(a.chunks, b.chunks);
  EXPECT_EQ(a.stage_ranks, b.stage_ranks);
  EXPECT_EQ(a.micro_batches, b.micro_batches);
  EXPECT_EQ(a.micro_batch_size, b.micro_batch_size);
  EXPECT_EQ(a.schedule, b.schedule);
  EXPECT_EQ(a.warm_up, b.warm_up);
  EXPECT_EQ(a.recompute, b.recompute);
  EXPECT_EQ(a.split, b.split);
}

TEST(PlanRequest, CandidatesAreRunsAndRunsCandidates) {
  PipelineConfig pipeline;
  apply(chunked(), pipeline);
  expect_equal(arrangement_of(pipeline), chunked());
  EXPECT_EQ(ranks_per_pipeline(pipeline), chunked().ranks());
  Arrangement usual = chunked();
  usual.schedule = "zb-v";
  usual.chunks = 2;
  apply(usual, pipeline);
  EXPECT_EQ(pipeline.chunks, 0);  // what the schedule has anyway
  expect_equal(arrangement_of(pipeline), usual);
  usual.schedule = "1f1b";
  usual.chunks = 1;
  usual.warm_up = 2;
  apply(usual, pipeline);
  EXPECT_EQ(pipeline.warm_up, 2);
  expect_equal(arrangement_of(pipeline), usual);
  Arrangement placed = chunked();
  placed.schedule = "looped-bfs";
  placed.stages = 4;
  placed.stage_ranks = {0, 0, 1, 2};
  placed.chunks = 2;
  placed.split = {1, 2, 3, 4};
  apply(placed, pipeline);
  EXPECT_EQ(pipeline.chunks, 0);
  EXPECT_EQ(ranks_per_pipeline(pipeline), 3);
  expect_equal(arrangement_of(pipeline), placed);
  apply(usual, pipeline);
  EXPECT_TRUE(pipeline.stage_ranks.empty());
  expect_equal(arrangement_of(PipelineConfig{}), {.micro_batches = PipelineConfig{}.micro_batches});
}

// A schedule that was chosen takes the place of the file in the run file.
TEST(PlanRequest, AChosenScheduleForgetsTheFile) {
  PipelineConfig pipeline;
  pipeline.schedule = "mine.csv";
  pipeline.schedule_csv = to_csv(make_schedule("zb-v", 2, 3));
  pipeline.stages = 4;
  pipeline.micro_batches = 3;
  const Arrangement own = arrangement_of(pipeline);
  EXPECT_EQ(own.chunks, 2);
  EXPECT_TRUE(own.stage_ranks.empty());
  PipelineConfig unequal = pipeline;
  unequal.schedule_csv = "F0.0,F2.0,B2.0,B0.0\nF1.0,B1.0\n";
  unequal.stages = 3;
  unequal.micro_batches = 1;
  EXPECT_EQ(arrangement_of(unequal).stage_ranks, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(arrangement_of(unequal).ranks(), 2);
  apply(chunked(), pipeline);
  EXPECT_EQ(make_programs(pipeline).training.stages, 8);
}

TEST(PlanRequest, AsksForTheMiniBatchOfTheRun) {
  Config config;
  config.pipeline.replicas = 3;
  config.pipeline.micro_batches = 4;
  config.pipeline.micro_batch_size = 5;
  Cluster cluster;
  cluster.ranks_per_node = 7;
  const PlanRequest request = plan_request(config, 12, cluster, {});
  EXPECT_EQ(request.ranks, 12);
  EXPECT_EQ(request.mini_batch, 60);
  EXPECT_EQ(request.cluster.ranks_per_node, 7);
  EXPECT_FALSE(request.stages || request.replicas || request.chunks || request.micro_batches ||
               request.micro_batch_size || request.schedule || request.recompute ||
               request.placement);
}

class Costs : public testing::Test {
 protected:
  [[nodiscard]] CostsByCut by_cut(const Profile* profile) const {
    return costs_by_cut(config_, std::make_shared<Sequential>(build_model(config_.model, 0, 0)),
                        input_of(config_.model), like_devices(device_, profile));
  }
  [[nodiscard]] Profile profile_of(int64_t micro_batch_size) const {
    Profile profile;
    profile.costs = by_cut(nullptr)({micro_batch_size});
    profile.costs.device = "a machine";
    return profile;
  }
  Config config_ = [] {
    Config config;
    config.model = transformer_config();
    return config;
  }();
  DeviceModel device_ = device_model_named("cpu");
};

TEST_F(Costs, AreCountedForEverySize) {
  const CostsByCut costs = by_cut(nullptr);
  for (const int64_t size : {1, 8}) {
    const ModelCosts counted =
        counted_costs(build_model(config_.model, 0, 0), input_of(config_.model), {size}, DType::F32,
                      config_.optimizer, device_);
    EXPECT_EQ(costs({size}).micro_batch_size, size);
    ASSERT_EQ(costs({size}).layers.size(), counted.layers.size());
    for (size_t i = 0; i < counted.layers.size(); ++i) {
      EXPECT_EQ(costs({size}).layers[i].forward_s, counted.layers[i].forward_s);
      EXPECT_EQ(costs({size}).layers[i].tape_bytes, counted.layers[i].tape_bytes);
    }
  }
}

// Twice as slow at the profile's size is twice as slow at any; the memory is what it was.
TEST_F(Costs, AProfileCorrectsTimesAndLeavesMemory) {
  Profile profile = profile_of(4);
  for (LayerCost& layer : profile.costs.layers) {
    layer.forward_s *= 2;
    layer.update_s *= 3;
    layer.tape_bytes *= 5;
  }
  const CostsByCut corrected = by_cut(&profile);
  for (const int64_t size : {4, 16}) {
    const ModelCosts counted = by_cut(nullptr)({size});
    const ModelCosts costs = corrected({size});
    EXPECT_EQ(costs.micro_batch_size, size);
    EXPECT_EQ(costs.device, "a machine");
    for (size_t i = 0; i < counted.layers.size(); ++i) {
      SCOPED_TRACE(counted.layers[i].name);
      EXPECT_NEAR(costs.layers[i].forward_s / counted.layers[i].forward_s, 2, 1e-9);
      EXPECT_NEAR(costs.layers[i].backward_s / counted.layers[i].backward_s, 1, 1e-9);
      EXPECT_NEAR(costs.layers[i].update_s / counted.layers[i].update_s, 3, 1e-9);
      EXPECT_EQ(costs.layers[i].tape_bytes, counted.layers[i].tape_bytes);
      EXPECT_EQ(costs.layers[i].record_peak_bytes, counted.layers[i].record_peak_bytes);
    }
  }
}

// Half of what crosses a boundary, where it is not half already.
TEST_F(Costs, ANarrowWireHalvesMessages) {
  const auto bytes = [&] {
    const ModelCosts costs = by_cut(nullptr)({2});
    const int rest = static_cast<int>(costs.layers.size()) - 3;
    const Arrangement arrangement{.stages = 2, .micro_batch_size = 2, .split = {3, rest}};
    return step_costs(arrangement, schedule_of(arrangement, {}), costs, Cluster{}).boundary_bytes;
  };
  const std::vector<double> full = bytes();
  config_.pipeline.wire = "bf16";
  ASSERT_EQ(full.size(), 1U);
  EXPECT_EQ(bytes()[0], full[0] / 2);
  config_.run.precision = "bf16";
  EXPECT_EQ(bytes()[0], full[0] / 2) << "as large as in a run of bf16";
}

// Half as fast takes twice as long, by whatever the times are; memory stays.
TEST_F(Costs, OfOtherKindsOfDeviceStandBesideTheFirst) {
  Profile profile = profile_of(4);
  for (LayerCost& layer : profile.costs.layers) layer.forward_s *= 3;
  const DeviceKind slow{.model = device_, .speed = 0.5};
  const DeviceKind measured{.model = device_, .profile = profile, .speed = 0.5};
  const ModelCosts all =
      costs_by_cut(config_, std::make_shared<Sequential>(build_model(config_.model, 0, 0)),
                   input_of(config_.model), {.kinds = {{.model = device_}, slow, measured}})({4});
  const ModelCosts alone = by_cut(nullptr)({4});
  ASSERT_EQ(all.others.size(), 2U);
  for (size_t i = 0; i < alone.layers.size(); ++i) {
    EXPECT_EQ(all.of_kind(0).layers[i].forward_s, alone.layers[i].forward_s);
    const LayerCost& half = all.of_kind(1).layers[i];
    EXPECT_DOUBLE_EQ(half.forward_s, 2 * alone.layers[i].forward_s);
    EXPECT_DOUBLE_EQ(half.backward_input_s, 2 * alone.layers[i].backward_input_s);
    EXPECT_DOUBLE_EQ(half.backward_weight_s, 2 * alone.layers[i].backward_weight_s);
    EXPECT_DOUBLE_EQ(half.backward_s, 2 * alone.layers[i].backward_s);
    EXPECT_DOUBLE_EQ(half.update_s, 2 * alone.layers[i].update_s);
    EXPECT_EQ(half.tape_bytes, alone.layers[i].tape_bytes);
    EXPECT_NEAR(all.of_kind(2).layers[i].forward_s, 6 * alone.layers[i].forward_s, 1e-12);
  }
}

TEST_F(Costs, AProfileOfAnotherNetworkIsRefused) {
  Profile other = profile_of(4);
  other.costs.layers[1].parameters += 1;
  try {
    const CostsByCut corrected = by_cut(&other);
    (void)corrected({4});
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("the profile is of another network"));
  }
}

TEST(Machines, PreferTheLinksThatWereMeasured) {
  const DeviceModel cpu = device_model_named("cpu");
  const Cluster usual = usual_cluster(cpu);
  EXPECT_EQ(usual.memory_bytes, cpu.memory_bytes);
  EXPECT_GT(usual.within_node.seconds_per_byte, 0);
  Profile profile;
  profile.within_node = {.latency = 1e-3, .seconds_per_byte = 1e-6, .overhead = 2e-3};
  const Cluster cluster = cluster_of(like_devices(cpu, &profile), 4);
  EXPECT_EQ(cluster.ranks_per_node, 4);
  EXPECT_EQ(cluster.within_node.latency, 1e-3);
  EXPECT_EQ(cluster.within_node.overhead, 2e-3);
  // There was no second host to measure the way to.
  EXPECT_EQ(cluster.between_nodes.latency, usual.between_nodes.latency);
  EXPECT_EQ(cluster.between_nodes.seconds_per_byte, usual.between_nodes.seconds_per_byte);
  EXPECT_EQ(cluster_of(like_devices(cpu), 4).within_node.seconds_per_byte,
            usual.within_node.seconds_per_byte);
}

TEST(Machines, OfUnlikeRanksHaveTheSlowestLinksAndEachItsMemory) {
  const DeviceModel fast = device_model_named("h100");
  const DeviceModel slow = device_model_named("p100");
  const Cluster cluster = cluster_of(
      {.kinds = {{.model = fast}, {.model = slow, .memory_bytes = 100}}, .kind_of_rank = {0, 1, 1}},
      2);
  EXPECT_EQ(cluster.within_node.seconds_per_byte, usual_cluster(slow).within_node.seconds_per_byte);
  EXPECT_EQ(cluster.between_nodes.seconds_per_byte,
            usual_cluster(slow).between_nodes.seconds_per_byte);
  EXPECT_EQ(cluster.memory_bytes, fast.memory_bytes);
  ASSERT_EQ(cluster.devices.size(), 3U);
  EXPECT_EQ(cluster.devices[0].kind, 0);
  EXPECT_EQ(cluster.devices[0].memory_bytes, 0);
  EXPECT_EQ(cluster.devices[2].kind, 1);
  EXPECT_EQ(cluster.devices[2].memory_bytes, 100);
}

TEST(Machines, AreLinkedAsTheirDevicesAre) {
  const auto per_byte = [](const char* device) {
    return usual_cluster(device_model_named(device)).within_node.seconds_per_byte;
  };
  EXPECT_LT(per_byte("h100"), per_byte("a100"));
  EXPECT_LT(per_byte("a100"), per_byte("p100"));
  const auto cards = [](const char* device, int ranks_per_node) {
    return usual_cluster(device_model_named(device), ranks_per_node).cards;
  };
  EXPECT_EQ(cards("h100", 8), 8) << "a card for each GPU";
  EXPECT_EQ(cards("v100-16gb", 8), 4);
  EXPECT_EQ(cards("v100-16gb", 3), 2);
  EXPECT_EQ(cards("rtx-4090", 8), 1);
  EXPECT_EQ(cards("cpu", 8), 1);
  EXPECT_FALSE(usual_cluster(device_model_named("h100")).within_node.receiver_copies);
  EXPECT_TRUE(usual_cluster(device_model_named("cpu", 4)).within_node.receiver_copies);
}

}  // namespace
}  // namespace penstock
