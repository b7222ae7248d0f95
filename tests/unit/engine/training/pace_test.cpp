// The factors by which a dry run stretches its instructions when there is a profile.
#include "runtime/engine/training/dry_run/pace.h"

#include <gtest/gtest.h>

#include "runtime/planning/blueprint/plan_request.h"

namespace penstock {
namespace {

Config small_run() {
  Config config;
  config.model.kind = "mlp";
  config.model.layers = 3;
  config.model.hidden = 8;
  config.model.input = {4};
  config.model.classes = 3;
  config.pipeline.stages = 2;
  config.pipeline.micro_batches = 2;
  config.pipeline.micro_batch_size = 2;
  config.pipeline.recompute = "none";
  config.pipeline.split = {2, 3};
  return config;
}

TEST(Pace, IsMeasuredByCountedForEachStageAndKind) {
  const Config config = small_run();
  const ModelMaker models = built_in_models();
  const Blueprint blueprint = draw_up(config, models, 0, 3);
  const DeviceModel device = cpu_model({});
  const std::shared_ptr<const Sequential> not_owned(std::shared_ptr<void>(), &blueprint.model);
  Profile profile;
  profile.costs = costs_by_cut(config, not_owned, blueprint.input, like_devices(device))({2});
  const size_t half = 2;  // layers of stage 0
  for (size_t i = 0; i < profile.costs.layers.size(); ++i) {
    LayerCost& layer = profile.costs.layers[i];
    layer.forward_s *= i < half ? 3 : 1;
    layer.backward_s *= i < half ? 1 : 5;
  }
  const std::vector<double> factors =
      paces(config, blueprint, device, {.model = device, .profile = profile});
  ASSERT_EQ(factors.size(), pace_size(2));

  const Schedule& schedule = blueprint.programs.training;
  for (int position = 0; position < 2; ++position) {
    const auto pace = pace_by_section(schedule, position, factors);
    const auto& program = schedule.program[static_cast<size_t>(position)];
    for (size_t i = 0; i < program.size(); ++i) {
      double expected = 1;
      if (program[i].op == Op::Forward && position == 0) expected = 3;
      if (program[i].op == Op::Backward && position == 1) expected = 5;
      EXPECT_NEAR(pace(static_cast<int64_t>(i)), expected, 1e-9) << position << " " << i;
    }
    EXPECT_EQ(pace(static_cast<int64_t>(program.size())), 1.0);  // an evaluation's
  }
}

TEST(Pace, OfASlowerDeviceIsTheSameForAll) {
  const Config config = small_run();
  const Blueprint blueprint = draw_up(config, built_in_models(), 0, 3);
  const DeviceModel device = cpu_model({});
  for (const double factor : paces(config, blueprint, device, {.model = device, .speed = 0.25})) {
    EXPECT_NEAR(factor, 4, 1e-9);
  }
}

}  // namespace
}  // namespace penstock
