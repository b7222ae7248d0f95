// runtime/planning/costs/countable.h -- countable(): refuses networks and batches so large that
// sums of their bytes would overflow 64-bit integers in plans and forecasts.
#pragma once

#include <cstdint>

#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// Returns `costs` unchanged if the bytes of all layers for a step of `micro_batches` micro-batches
// add up to at most 2^60 (1 EiB). Throws Error(Input) for more.
[[nodiscard]] ModelCosts countable(ModelCosts costs, int64_t micro_batches);

}  // namespace penstock
