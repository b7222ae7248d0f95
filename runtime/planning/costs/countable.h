// runtime/planning/costs/countable.h -- countable(): refuses costs whose bytes would overflow the
// 64-bit sums of plans and forecasts.
#pragma once

#include <cstdint>

#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// Returns `costs` unchanged. Throws Error(Input) where all bytes of all layers, times
// `micro_batches`, come near 2^63: their sums would wrap round to small numbers.
[[nodiscard]] ModelCosts countable(ModelCosts costs, int64_t micro_batches);

}  // namespace penstock
