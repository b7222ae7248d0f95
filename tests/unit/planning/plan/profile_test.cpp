// A profile corrects counted times layer by layer, and refuses another network.
#include "runtime/planning/plan/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace penstock {
namespace {

using testing::HasSubstr;

LayerCost measured_layer(const std::string& name, int64_t parameters, double seconds) {
  LayerCost cost;
  cost.name = name;
  cost.parameters = parameters;
  cost.forward_s = seconds;
  cost.backward_input_s = 2 * seconds;
  cost.backward_weight_s = 3 * seconds;
  cost.backward_s = 5 * seconds;
  cost.update_s = 7;
  cost.tape_bytes = static_cast<int64_t>(1000 * seconds);
  return cost;
}

ModelCosts costs(double first, double second, const char* device) {
  ModelCosts all;
  all.device = device;
  all.layers = {measured_layer("a", 10, first), measured_layer("b", 20, second)};
  return all;
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Profile, ScalesWhatWasMeasuredByWhatIsCounted) {
  // The costs of four samples instead of one: the first layer takes four times as long, the second
  // twice.
  const ModelCosts counted = costs(4, 2, "model");
  const ModelCosts at_profile = costs(1, 1, "model");
  ModelCosts measured = costs(3, 5, "machine");
  measured.layers[0].update_s = 11;
  const ModelCosts result = calibrated(counted, at_profile, measured);
  EXPECT_DOUBLE_EQ(result.layers[0].forward_s, 12);
  EXPECT_DOUBLE_EQ(result.layers[0].backward_input_s, 24);
  EXPECT_DOUBLE_EQ(result.layers[0].backward_weight_s, 36);
  EXPECT_DOUBLE_EQ(result.layers[0].backward_s, 60);
  EXPECT_DOUBLE_EQ(result.layers[0].update_s, 11);
  EXPECT_DOUBLE_EQ(result.layers[1].forward_s, 10);
  EXPECT_EQ(result.layers[0].tape_bytes, 4000) << "memory stays as counted";
  EXPECT_EQ(result.device, "machine");
}

TEST(Profile, WhatCountsForNothingTakesWhatItTook) {
  ModelCosts at_profile = costs(1, 1, "model");
  at_profile.layers[1].backward_input_s = 0;
  const ModelCosts result = calibrated(costs(4, 2, "model"), at_profile, costs(3, 5, "machine"));
  EXPECT_DOUBLE_EQ(result.layers[1].backward_input_s, 10);
}

TEST(Profile, RefusesAnotherNetwork) {
  const ModelCosts counted = costs(1, 1, "model");
  ModelCosts other = costs(1, 1, "machine");
  other.layers[1].name = "c";
  EXPECT_THAT(refusal([&] { (void)calibrated(counted, counted, other); }),
              HasSubstr("the layer 'b' of 20 parameters, it has 'c' of 20"));
  other = costs(1, 1, "machine");
  other.layers[0].parameters = 11;
  EXPECT_THAT(refusal([&] { (void)calibrated(counted, counted, other); }),
              HasSubstr("the layer 'a' of 10 parameters, it has 'a' of 11"));
  other = costs(1, 1, "machine");
  other.layers.pop_back();
  EXPECT_THAT(refusal([&] { (void)calibrated(counted, counted, other); }),
              HasSubstr("it has 1 layers, this one 2"));
}

}  // namespace
}  // namespace penstock
