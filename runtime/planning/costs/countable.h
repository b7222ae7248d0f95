// runtime/planning/costs/countable.h -- whether the bytes that a step holds fit into the 64-bit
// sums of plans and forecasts.
#pragma once

#include <cstdint>

#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// The same costs. Throws Error(Input) where all bytes of all layers, held for each of so many
// micro-batches, would come near 2^63: sums of them would wrap round to small numbers.
[[nodiscard]] ModelCosts countable(ModelCosts costs, int64_t micro_batches);

}  // namespace penstock
