// runtime/planning/plan/stages/stage_costs.h -- adds up the costs of the layers of one stage
// (layer_cost.h) to the times and bytes of the stage, as simulate() and byte_curve() need them.
//
// The sums follow what the engine does (runtime/network/stage/stage.cpp). Everywhere below,
// `layers` are the layers of the stage in order, at least one, and `recompute` is "none", "stage"
// or "layer".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// The layers of each stage.
using StageLayers = std::vector<std::span<const LayerCost>>;
// Cuts the network's layers by candidate.split; the spans are views of `costs`. Throws
// std::invalid_argument where the costs are for another size of micro-batch than the candidate's,
// or its split is not of that many stages and layers.
[[nodiscard]] StageLayers stage_layers(const Arrangement& candidate, const ModelCosts& costs);

// Seconds for one micro-batch. In mode "stage" the Recompute instruction runs all layers again. In
// mode "layer" it runs the last layer again, and the time of the other layers is part of the
// backward, in which each is run again right before its own backward.
[[nodiscard]] StageTimes stage_times(std::span<const LayerCost> layers,
                                     const std::string& recompute);

// How each pass changes the bytes in use, for one micro-batch. A backward frees the tape (what
// forwards keep for it) layer by layer. Mode "stage" keeps the input of the stage instead of the
// tape, mode "layer" the input of every layer. Layers that have no backward because nothing up to
// them is trained can only be the first of a stage, and keep nothing.
[[nodiscard]] StageMemory stage_memory(std::span<const LayerCost> layers,
                                       const std::string& recompute);

// The same in a pass without backwards, in which a forward keeps nothing: forward_keep is what it
// does, and the other members are 0.
[[nodiscard]] StageMemory evaluation_memory(std::span<const LayerCost> layers,
                                            const std::string& recompute);

// The bytes that the update of a layer needs on one rank besides weights and gradients: the
// optimizer's state and, with optimizer.barrier = false, copies of state and weights by which an
// update can be taken back.
[[nodiscard]] int64_t updated_bytes(const LayerCost& layer, const Arrangement& candidate);
// The bytes of these copies alone.
[[nodiscard]] int64_t undo_bytes(const LayerCost& layer, const Arrangement& candidate);

// The least bytes of a bucket in which the engine sums gradients: GradientBuckets::kBucketBytes,
// which this room does not know (runtime/planning/costs makes sure that they are the same).
inline constexpr double kBucketBytes = 4 << 20;

// The buckets in which replicas sum the stage's gradients, in the order in which they become
// complete: each holds the gradients of whole neighbouring layers, the last layers first, and at
// least `bucket_bytes` bytes, except the bucket with the first layer
// (runtime/network/stage/gradient_buckets.h). `halves`: the schedule has BackwardWeight
// instructions, so that a bucket's ReduceBucket::ready is a share of such an instruction and not of
// a whole Backward.
[[nodiscard]] std::vector<ReduceBucket> gradient_buckets(std::span<const LayerCost> layers,
                                                         const std::string& recompute, bool halves,
                                                         double bucket_bytes);

}  // namespace penstock
