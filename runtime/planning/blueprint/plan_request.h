// runtime/planning/blueprint/plan_request.h -- joins a run's configuration to the planner: makes
// the arguments of plan() (runtime/planning/plan/plan.h) from a Config, and writes what plan()
// chose back to it.
//
// The order of use, for `penstock plan` and pipeline.auto: costs_by_cut(), then plan_request() with
// the result, then plan(), then apply() of the best candidate.
#pragma once

#include <functional>
#include <memory>

#include "runtime/network/layers/layer.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/costs/devices.h"
#include "runtime/planning/plan/plan.h"

namespace penstock {

// The samples of a step, over all replicas.
[[nodiscard]] int64_t mini_batch_of(const PipelineConfig& pipeline);

// The Arrangement (the planner's form of the choices: stages, replicas, schedule, ...) that
// `pipeline` describes. Its split is empty unless pipeline.split gives one. The optimizer's
// members, `shared` and `barrier`, keep their defaults: the caller sets them.
[[nodiscard]] Arrangement arrangement_of(const PipelineConfig& pipeline);

// The same for the whole run, with the split `split`: all that predict() reads.
[[nodiscard]] Arrangement arrangement_of_run(const Config& config, const std::vector<int>& split);

// What the run does beside training steps, as far as it takes memory.
[[nodiscard]] Upkeep upkeep_of(const Config& config);

// Overwrites in `pipeline` what the candidate chooses: stages, replicas, chunks, micro-batches and
// their size, schedule, recompute mode, placement and split.
void apply(const Arrangement& candidate, PipelineConfig& pipeline);

// Returns the costs of all layers for one way to cut samples into micro-batches.
using CostsByCut = std::function<ModelCosts(MicroBatches)>;

// Makes such a function: it counts the costs of the layers of `model` on each kind of device and,
// where there is a profile, scales the times to the measured ones. The first kind's are the costs
// themselves, the others' are ModelCosts::others. The function shares ownership of `model` and
// copies all else. It throws Error(Input) where bytes would overflow, std::invalid_argument where a
// profile is of another network.
[[nodiscard]] CostsByCut costs_by_cut(const Config& config,
                                      const std::shared_ptr<const Sequential>& model,
                                      const ModelInput& input, const Devices& devices);

// A request to plan the run's mini-batch on `ranks` ranks (of all replicas together), in which
// nothing is fixed: the caller may then set what the planner must keep.
[[nodiscard]] PlanRequest plan_request(const Config& config, int ranks, const Cluster& cluster,
                                       CostsByCut costs);

// Tells the planner to keep the values in `pipeline` of all keys that pipeline.auto could choose,
// except the split of layers over stages, which it may vary.
void pin_whole_pipeline(const PipelineConfig& pipeline, PlanRequest& plan);

}  // namespace penstock
