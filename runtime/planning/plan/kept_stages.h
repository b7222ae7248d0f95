// runtime/planning/plan/kept_stages.h -- stages_to_keep(): which stages of a candidate in mode
// "stage" need not recompute, because their ranks have room for what they would keep.
#pragma once

#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// Returns stages for Arrangement::kept_stages, ascending: on each rank as many as fit its memory
// (memory_limits(), stages/unlike_ranks.h), the one that computes longest first; none that
// recomputes nothing anyway. The candidate must have a split and no kept stages yet. Throws
// std::invalid_argument as predict() does.
[[nodiscard]] std::vector<int> stages_to_keep(const Arrangement& candidate, const ModelCosts& costs,
                                              const Cluster& cluster);

}  // namespace penstock
