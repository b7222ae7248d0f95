// runtime/engine/training/divergence/not_finite.h -- finds where a training step went wrong when
// its loss or gradient is NaN or infinite: repeats the step with a look at every tensor, and names
// the first layer whose tensor is not finite. Normal steps do not pay for it.
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// Repeats the pass of the step whose `input` this is; its batches must still be there and its
// weights unchanged. Collective over all ranks. Weights and moving statistics stay as they are,
// gradients are overwritten. Returns a clause for a message, the same on every rank: "first in the
// output of layer 'blocks.1', micro-batch 5". The micro-batch with the lowest index is named and,
// in it, the first layer to go wrong, in its forward or its backward. `station`: which rank this
// is, with its network, its place in stages x replicas and its device.
[[nodiscard]] std::string find_not_finite(Pipeline& pipeline, const StepInput& input,
                                          const Station& station);

}  // namespace penstock
