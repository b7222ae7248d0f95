// How the layers of a running network should be split, by how long its ranks have computed: a rank
// that took longer than predicted gets fewer layers, and equal ranks stay of one kind.
#include "runtime/engine/training/replan/new_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine/training/replan/replanner.h"

namespace penstock {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Grid kFour{.positions = 4, .replicas = 1};

TEST(MeasuredDevices, AreAsMuchSlowerAsTheyComputedLonger) {
  const Devices two_kinds{
      .kinds = {{.speed = 1.0}, {.speed = 0.5}},
      .kind_of_rank = {0, 1, 0, 0},
      .links = {.group_of_rank = {0, 0, 1, 1}, .between = {{{0, 1}, {.latency = 1e-3}}}}};
  const std::vector<double> predicted = {1.0, 2.0, 1.0, 1.0};
  const std::vector<double> measured = {1.0, 2.0, 2.0, 1.0};
  const Devices devices = measured_devices(two_kinds, predicted, measured);
  ASSERT_EQ(devices.kind_of_rank.size(), 4U);
  std::vector<double> speeds;
  for (const int kind : devices.kind_of_rank) speeds.push_back(devices.kinds.at(kind).speed);
  EXPECT_NEAR(speeds[0], 1.0, 0.01);
  EXPECT_NEAR(speeds[1], 0.5, 0.005) << "as slow as it was said to be";
  EXPECT_NEAR(speeds[2], 0.5, 0.005);
  EXPECT_NEAR(speeds[3], 1.0, 0.01);
  EXPECT_EQ(devices.kind_of_rank[0], 0) << "the first kind is that of rank 0";
  EXPECT_EQ(devices.links.link(1, 2, {}).latency, 1e-3) << "links are as they were said to be";
}

TEST(MeasuredDevices, StayOfOneKindWhereRanksDifferByNoise) {
  const Devices alike{.kinds = {{}}};
  const std::vector<double> predicted(4, 1.0);
  const std::vector<double> measured = {1.001, 0.998, 1.004, 1.0};
  EXPECT_THAT(measured_devices(alike, predicted, measured).kind_of_rank, Each(0));
  const std::vector<double> unknown(4, 0.0);
  EXPECT_THAT(measured_devices(alike, predicted, unknown).kind_of_rank, Each(0));
}

class NewSplits : public testing::Test {
 protected:
  NewSplits() {
    config_.model.kind = "mlp";
    config_.model.image = {1, 8, 8};
    config_.model.hidden_layers.assign(14, 64);
    config_.model.classes = 8;
    config_.pipeline.stages = 4;
    config_.pipeline.micro_batches = 8;
    config_.pipeline.micro_batch_size = 32;
    config_.pipeline.split = {4, 4, 4, 4};
    blueprint_ = draw_up(config_, models_, 0, 8);
  }
  [[nodiscard]] NewSplit found(const std::vector<double>& times_as_long,
                               const std::vector<int>& wanted = {}) const {
    const RunningPlan running{config_, blueprint_, kFour};
    const std::vector<double> predicted = predicted_compute(running, devices_);
    std::vector<double> measured = predicted;
    for (size_t r = 0; r < measured.size(); ++r) measured[r] *= times_as_long[r];
    return find_new_split(running, measured_devices(devices_, predicted, measured), wanted, models_,
                          0, 8);
  }

  Config config_;
  ModelMaker models_ = built_in_models();
  Devices devices_ = like_devices(device_model_named("cpu"));
  Blueprint blueprint_;
};

TEST_F(NewSplits, TakeLayersFromARankThatIsSlow) {
  const NewSplit slow = found({1, 1, 2, 1});
  const std::vector<int64_t>& split = slow.config.pipeline.split;
  ASSERT_EQ(split.size(), 4U);
  EXPECT_EQ(split[0] + split[1] + split[2] + split[3], 16);
  EXPECT_LT(split[2], 4);
  EXPECT_LT(slow.then.prediction.step.mean_s, 0.8 * slow.now.prediction.step.mean_s);
  // All four half as fast: nothing to move.
  const NewSplit alike = found({2, 2, 2, 2});
  EXPECT_NEAR(alike.now.prediction.step.mean_s, alike.then.prediction.step.mean_s,
              0.05 * alike.now.prediction.step.mean_s);
  EXPECT_NEAR(alike.now.prediction.step.mean_s,
              2.0 * found({1, 1, 1, 1}).now.prediction.step.mean_s,
              0.2 * alike.now.prediction.step.mean_s);
}

TEST_F(NewSplits, AreTheOnesThatAreWantedOrRefused) {
  EXPECT_THAT(found({1, 1, 1, 1}, {1, 5, 5, 5}).config.pipeline.split, ElementsAre(1, 5, 5, 5));
  EXPECT_THROW((void)found({1, 1, 1, 1}, {1, 5, 5, 6}), Error);
  EXPECT_THROW((void)found({1, 1, 1, 1}, {8, 8}), Error);
}

TEST(Room, IsForBothSplitsOnEachHostOrNot) {
  const std::vector<int64_t> bytes = {10, 20, 30, 40};
  const std::vector<int> here = {1, 3};
  EXPECT_EQ(lack_of_room(bytes, here, 60, "n1"), "");
  EXPECT_THAT(lack_of_room(bytes, here, 59, "n1"),
              HasSubstr("both splits together need 60 B on host n1, which has 59 B"));
}

}  // namespace
}  // namespace penstock
