// runtime/planning/plan/stage_costs.h -- from the costs of layers to the costs of the stage they
// make, as runtime/network/stage/stage.cpp runs it: `layers` are its consecutive layers, none
// empty, `recompute` is none, stage or layer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// Seconds. Mode stage runs all layers again in its Recompute, mode layer the last one, and the
// others inside the backward.
[[nodiscard]] StageTimes stage_times(std::span<const LayerCost> layers,
                                     const std::string& recompute);

// Bytes. Tapes shrink layer by layer as the backward goes; a mode that recomputes keeps the input
// of the stage or of every layer instead. Layers that are never differentiated come first in a
// stage and keep nothing.
[[nodiscard]] StageMemory stage_memory(std::span<const LayerCost> layers,
                                       const std::string& recompute);

// The bytes that an update of a layer changes besides its weights, or keeps to take it back: the
// optimizer's states and, without a barrier, copies of those and of the weights.
[[nodiscard]] int64_t updated_bytes(const LayerCost& layer, const Arrangement& candidate);

// The gradients in the order in which replicas sum them: whole layers, the last ones first, at
// least `bucket_bytes` each but for the one that holds the first layer
// (runtime/network/stage/gradient_buckets.h). `halves`: the weight gradients are an instruction of
// their own.
[[nodiscard]] std::vector<ReduceBucket> gradient_buckets(std::span<const LayerCost> layers,
                                                         const std::string& recompute, bool halves,
                                                         double bucket_bytes);

}  // namespace penstock
