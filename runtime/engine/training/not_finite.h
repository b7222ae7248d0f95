// runtime/engine/training/not_finite.h -- finds where a step's loss or gradient stopped being
// finite, by a second pass over the same step that looks at every tensor. Other steps pay nothing.
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// Collective over all ranks; `input` is that of the step, whose batches and weights are still
// there. Weights and moving statistics stay as they are; gradients are overwritten. Returns a
// clause, the same on every rank: "first in the output of layer 'blocks.1', micro-batch 5". Of
// several micro-batches the first counts, and in it the layer that comes first, in a forward or a
// backward.
[[nodiscard]] std::string find_not_finite(Pipeline& pipeline, const StepInput& input,
                                          const Station& station);

}  // namespace penstock
