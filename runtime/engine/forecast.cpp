#include "runtime/engine/forecast.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/engine/plan_request.h"

namespace penstock {

Forecast forecast(const Config& config, Sequential model, const ModelInput& input,
                  const Layout& layout, const Schedule& training, const DeviceModel& device,
                  const Profile* profile, int ranks_per_node) {
  try {
    const auto costs = costs_by_size(config, std::make_shared<Sequential>(std::move(model)), input,
                                     device, profile);
    Candidate candidate = candidate_of(config.pipeline);
    candidate.split = layout.split();
    Machine machine = machine_of(device, profile);
    machine.ranks_per_node = ranks_per_node;
    machine.placement = config.pipeline.placement;
    return {
        predict(candidate, training, costs(candidate.micro_batch_size), machine),
        profile == nullptr ? "counted for " + device.name : "measured: " + config.pipeline.profile};
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

}  // namespace penstock
