#include "runtime/engine/forecast.h"

#include <memory>
#include <stdexcept>

#include "runtime/engine/plan_request.h"

namespace penstock {

Forecast forecast(const Config& config, Blueprint& blueprint, const DeviceModel& device,
                  const Profile* profile, int ranks_per_node) {
  try {
    const std::shared_ptr<Sequential> not_owned(std::shared_ptr<void>(), &blueprint.model);
    const auto costs = costs_by_size(config, not_owned, blueprint.input, device, profile);
    Candidate candidate = candidate_of(config.pipeline);
    candidate.split = blueprint.layout.split();
    Machine machine = machine_of(device, profile);
    machine.ranks_per_node = ranks_per_node;
    machine.placement = config.pipeline.placement;
    return {
        predict(candidate, blueprint.programs.training, costs(candidate.micro_batch_size), machine),
        profile == nullptr ? "counted for " + device.name : "measured: " + config.pipeline.profile};
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

}  // namespace penstock
