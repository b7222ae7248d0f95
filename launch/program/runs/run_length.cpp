#include "launch/program/runs/run_length.h"

#include <fmt/format.h>

#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/epochs.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

bool is_settled(const RunConfig& run) {
  return run.steps > 0 || run.epochs == 0;
}

}  // namespace

Config with_steps_of_checkpoint(Collective& world, const Config& config,
                                const std::string& checkpoint) {
  Config settled = config;
  if (checkpoint.empty() || is_settled(config.run)) return settled;
  settled.run.steps = numbers_of_first_rank<int64_t>(world, [&]() -> int64_t {
    const CheckpointState saved = CheckpointReader(checkpoint).state();
    if (saved.training_samples == 0) return 0;
    return steps_of_epochs(config.run.epochs, mini_batch_of(config.pipeline),
                           {.step = saved.step,
                            .consumed_samples = saved.consumed_samples,
                            .training_samples = saved.training_samples});
  });
  return settled;
}

Config with_steps_of_data(Collective& world, const Config& config, const ModelMaker& models) {
  Config settled = config;
  if (is_settled(config.run)) return settled;
  const Progress begin = DataSource(config, models, world).begin();
  settled.run.steps = on_every_rank(
      [&] { return steps_of_epochs(config.run.epochs, mini_batch_of(config.pipeline), begin); });
  return settled;
}

std::string length_note(const RunConfig& run) {
  if (run.epochs == 0) return "";
  return fmt::format("{} over the training set: {}", amount_text(run.epochs, "pass", "es"),
                     amount_text(run.steps, "step"));
}

}  // namespace penstock
