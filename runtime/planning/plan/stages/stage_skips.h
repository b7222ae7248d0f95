// runtime/planning/plan/stages/stage_skips.h -- stage_skips(): turns the skip connections between
// layers into skip connections between stages, for a given split of the layers into stages.
//
// A skip connection is a tensor that goes from one layer directly to a later one. If both are in
// one stage, nothing is sent. If they are in neighbouring stages, the tensor travels with the other
// tensors between the two. If they are farther apart, it needs messages of its own: a Skip of the
// schedule (schedule.h). With 2 layers in each of 3 stages, a skip from layer 1 to layer 4 becomes
// the Skip from stage 0 to stage 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The pairs of stages, farther apart than neighbours, that any of `skips` joins: each pair once, in
// the order of the first such skip, as Schedule::skips has them. `split` has the number of layers
// of each stage.
[[nodiscard]] std::vector<Skip> stage_skips(std::span<const int> split,
                                            std::span<const LayerSkip> skips);
// The bytes for one micro-batch of all tensors that skips take from stage `from` to stage `to`.
// These may be neighbours.
[[nodiscard]] int64_t skip_bytes(std::span<const int> split, std::span<const LayerSkip> skips,
                                 int from, int to);
// By layer of a stage, which has the layers [first, last): the bytes for one micro-batch of tensors
// that layers of the stage before that one have set aside, and that none up to it has taken.
[[nodiscard]] std::vector<int64_t> set_aside(std::span<const LayerSkip> skips, int first, int last);

}  // namespace penstock
