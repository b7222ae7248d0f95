// runtime/engine/training/checkpoints/trained_weights.h -- finds the newest checkpoint of a run,
// and loads the weights of one for evaluation and use.
#pragma once

#include <functional>
#include <string>

#include "runtime/engine/pipeline/pipeline.h"

namespace penstock {

// The latest checkpoint below <out>/checkpoints (runtime/records/checkpoint/layout.h); throws
// Error(Input) when there is none.
[[nodiscard]] std::string newest_checkpoint(const std::string& out);

using ChooseTensor = std::function<bool(const std::string& name)>;
// Loads this rank's parameters and buffers from the checkpoint, written at any number of stages and
// replicas; the moving average in the place of each that has one. `wanted` chooses them by name;
// empty: all. Throws Error(Input) naming the tensor that is missing or of another shape.
void load_weights(const std::string& checkpoint, Pipeline& pipeline, Device& device,
                  const ChooseTensor& wanted = {});

}  // namespace penstock
