// runtime/engine/trained_weights.h -- the weights of a checkpoint, for evaluation and use.
#pragma once

#include <string>

#include "runtime/engine/pipeline.h"

namespace penstock {

// The newest complete checkpoint below <out>/checkpoints; throws Error(Input) when there is none.
[[nodiscard]] std::string newest_checkpoint(const std::string& out);

// This rank's parameters and buffers from the checkpoint, whatever grid wrote it; the averaged
// weights where it has them. Throws Error(Input) naming the tensor that is missing or of another
// shape.
void load_weights(const std::string& checkpoint, Pipeline& pipeline, Device& device);

}  // namespace penstock
