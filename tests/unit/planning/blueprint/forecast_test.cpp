// The forecast of a run is the planner's prediction of the same candidate, and says what it rests
// on.
#include "runtime/planning/blueprint/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/planning/costs/interconnects.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Forecasts : public testing::Test {
 protected:
  Forecasts() {
    config_.model = transformer_config();
    config_.pipeline.stages = 2;
    config_.pipeline.micro_batches = 4;
    config_.pipeline.micro_batch_size = 2;
    config_.pipeline.split = {2, 3};
    config_.pipeline.profile = "mine.json";
  }
  [[nodiscard]] Sequential model() const { return build_model(config_.model, 0, 0); }
  [[nodiscard]] CostsByCut costs(const Profile* profile) const {
    return costs_by_cut(config_, std::make_shared<Sequential>(model()), input_of(config_.model),
                        devices(profile));
  }
  [[nodiscard]] Devices devices(const Profile* profile) const {
    return like_devices(device_, profile, config_.pipeline.profile);
  }
  [[nodiscard]] Forecast forecast_of_run(const Profile* profile, int ranks_per_node = 2) const {
    Blueprint blueprint = draw_up(config_, built_in_models(), 0, 0);
    return forecast(config_, blueprint, devices(profile), ranks_per_node);
  }
  [[nodiscard]] Prediction predicted(const Profile* profile, int ranks_per_node = 2) const {
    const Cluster cluster = cluster_of(devices(profile), ranks_per_node);
    return predict(arrangement_of(config_.pipeline), costs(profile)({2}), cluster);
  }
  [[nodiscard]] Profile profile() const {
    Profile profile;
    profile.costs = costs(nullptr)({2});
    for (LayerCost& layer : profile.costs.layers) layer.forward_s *= 3;
    profile.within_node = {.latency = 1e-3};
    return profile;
  }

  Config config_;
  DeviceModel device_ = device_model_named("cpu", 2);
};

void expect_same_prediction(const Prediction& a, const Prediction& b) {
  EXPECT_EQ(a.step.plain_s, b.step.plain_s);
  EXPECT_EQ(a.samples_per_s, b.samples_per_s);
  EXPECT_EQ(a.bubble, b.bubble);
  EXPECT_EQ(a.exposed_communication_s, b.exposed_communication_s);
  ASSERT_EQ(a.memory.size(), b.memory.size());
  for (size_t rank = 0; rank < a.memory.size(); ++rank) {
    EXPECT_EQ(a.memory[rank].total(), b.memory[rank].total()) << rank;
    EXPECT_EQ(a.timeline.rank[rank].size(), b.timeline.rank[rank].size()) << rank;
  }
}

TEST_F(Forecasts, AreThePlannersPredictions) {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
    for (const char* recompute : {"none", "stage", "layer"}) {
      SCOPED_TRACE(std::string(schedule) + " " + recompute);
      config_.pipeline.schedule = schedule;
      config_.pipeline.recompute = recompute;
      const Forecast made = forecast_of_run(nullptr);
      expect_same_prediction(made.prediction, predicted(nullptr));
      EXPECT_GT(made.prediction.step.plain_s, 0);
      EXPECT_EQ(made.prediction.memory.size(), 2U);
    }
  }
}

// Thrice the forward of every sample of the mini-batch, however it is cut up; recomputing is no
// progress.
TEST_F(Forecasts, CountTheOperationsOfAStep) {
  double forward = 0;
  for (const LayerCost& layer : costs(nullptr)({2}).layers) forward += layer.forward_flops;
  ASSERT_GT(forward, 0);
  EXPECT_DOUBLE_EQ(forecast_of_run(nullptr).step_flops, 3 * 4 * forward);
  config_.pipeline.recompute = "layer";
  EXPECT_DOUBLE_EQ(forecast_of_run(nullptr).step_flops, 3 * 4 * forward);
  config_.pipeline.replicas = 2;
  EXPECT_DOUBLE_EQ(forecast_of_run(nullptr).step_flops, 3 * 4 * 2 * forward);
  const Profile measured = profile();
  EXPECT_DOUBLE_EQ(forecast_of_run(&measured).step_flops, 3 * 4 * 2 * forward);
}

TEST_F(Forecasts, KnowTheirBasis) {
  EXPECT_EQ(forecast_of_run(nullptr).basis, "counted for " + device_.name);
  const Profile measured = profile();
  const Forecast made = forecast_of_run(&measured);
  EXPECT_EQ(made.basis, "measured: mine.json");
  expect_same_prediction(made.prediction, predicted(&measured));
  EXPECT_GT(made.prediction.step.plain_s, forecast_of_run(nullptr).prediction.step.plain_s);
}

TEST_F(Forecasts, SayWhatARankOfUnlikeOnesLacks) {
  const Blueprint blueprint = draw_up(config_, built_in_models(), 0, 0);
  Devices unlike{.kinds = {{.model = device_}, {.model = device_, .speed = 0.5}},
                 .kind_of_rank = {0, 1}};
  const Forecast slow = forecast(config_, blueprint, unlike, 2);
  EXPECT_GT(slow.prediction.step.plain_s, forecast_of_run(nullptr).prediction.step.plain_s);
  EXPECT_EQ(slow.lacks, "");
  unlike.kinds[1].memory_bytes = 2048;
  EXPECT_THAT(forecast(config_, blueprint, unlike, 2).lacks, HasSubstr("on rank 1, 2 KiB there"));
}

TEST_F(Forecasts, KnowWhereNodesEnd) {
  EXPECT_GT(forecast_of_run(nullptr, 1).prediction.step.plain_s,
            forecast_of_run(nullptr, 2).prediction.step.plain_s);
  expect_same_prediction(forecast_of_run(nullptr, 1).prediction, predicted(nullptr, 1));
}

TEST_F(Forecasts, RefuseAProfileOfAnotherNetwork) {
  Profile other = profile();
  other.costs.layers[1].name = "another";
  EXPECT_THAT(input_error_of([&] { (void)forecast_of_run(&other); }),
              AllOf(HasSubstr("the profile is of another network"), HasSubstr("'blocks.0'"),
                    HasSubstr("'another'")));
}

}  // namespace
}  // namespace penstock
