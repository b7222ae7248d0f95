// runtime/planning/blueprint/plan_request.h -- from a run's configuration to the arguments of
// plan() (runtime/planning/plan).
#pragma once

#include <functional>
#include <memory>

#include "kernels/device_model.h"
#include "runtime/network/layers/layer.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/plan/plan.h"
#include "runtime/planning/plan/profile.h"

namespace penstock {

// The run itself, to be predicted; its split is empty unless pipeline.split gives one.
[[nodiscard]] Arrangement arrangement_of(const PipelineConfig& pipeline);

// Writes the run that this candidate stands for to `pipeline`: the inverse of arrangement_of().
void apply(const Arrangement& candidate, PipelineConfig& pipeline);

using CostsByCut = std::function<ModelCosts(MicroBatches)>;

// Costs counted for `device` and, where there is a profile, corrected by it. Holds the network.
[[nodiscard]] CostsByCut costs_by_cut(const Config& config, std::shared_ptr<const Sequential> model,
                                      const ModelInput& input, const DeviceModel& device,
                                      const Profile* profile);

// A request for the mini-batch of the run, on so many ranks, with nothing pinned.
[[nodiscard]] PlanRequest plan_request(const Config& config, int ranks, const Cluster& cluster,
                                       CostsByCut costs);

}  // namespace penstock
