// runtime/planning/blueprint/plan_request.h -- makes the arguments of plan()
// (runtime/planning/plan) from a run's configuration.
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

// The Arrangement that `pipeline` describes; its split is empty unless pipeline.split gives one.
[[nodiscard]] Arrangement arrangement_of(const PipelineConfig& pipeline);

// Writes the candidate's choices to `pipeline`: the inverse of arrangement_of().
void apply(const Arrangement& candidate, PipelineConfig& pipeline);

using CostsByCut = std::function<ModelCosts(MicroBatches)>;

// A function that counts the costs for `device` and corrects them by the profile (null: not). It
// holds the network.
[[nodiscard]] CostsByCut costs_by_cut(const Config& config, std::shared_ptr<const Sequential> model,
                                      const ModelInput& input, const DeviceModel& device,
                                      const Profile* profile);

// A request for the run's mini-batch on `ranks` ranks that leaves the planner every choice.
[[nodiscard]] PlanRequest plan_request(const Config& config, int ranks, const Cluster& cluster,
                                       CostsByCut costs);

}  // namespace penstock
