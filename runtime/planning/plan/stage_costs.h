// runtime/planning/plan/stage_costs.h -- the costs of a stage from the costs of its layers, as
// runtime/network/stage/stage.cpp runs them. `layers` are the stage's layers in order, at least
// one; `recompute` is none, stage or layer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// Seconds for one micro-batch. Mode stage runs all layers again in its Recompute; mode layer runs
// the last layer again there, and the others inside the backward.
[[nodiscard]] StageTimes stage_times(std::span<const LayerCost> layers,
                                     const std::string& recompute);

// Bytes for one micro-batch. A backward frees the tape layer by layer. A mode that recomputes keeps
// the input of the stage or of every layer instead of the tape. Layers that are never
// differentiated come first in a stage and keep nothing.
[[nodiscard]] StageMemory stage_memory(std::span<const LayerCost> layers,
                                       const std::string& recompute);

// The bytes of a layer that updates need besides weights and gradients: the optimizer's states and,
// without a barrier, copies of states and weights to take an update back.
[[nodiscard]] int64_t updated_bytes(const LayerCost& layer, const Arrangement& candidate);

// The gradients in the order in which replicas sum them: whole layers, the last ones first, at
// least `bucket_bytes` each but for the bucket of the first layer
// (runtime/network/stage/gradient_buckets.h). `halves`: weight gradients are an instruction of
// their own.
[[nodiscard]] std::vector<ReduceBucket> gradient_buckets(std::span<const LayerCost> layers,
                                                         const std::string& recompute, bool halves,
                                                         double bucket_bytes);

}  // namespace penstock
