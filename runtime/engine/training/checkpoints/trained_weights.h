// runtime/engine/training/checkpoints/trained_weights.h -- finds the newest checkpoint of a run,
// and loads weights from a checkpoint for commands that use a trained network (eval, generate, ...)
// rather than train it.
#pragma once

#include <functional>
#include <string>

#include "runtime/engine/pipeline/pipeline.h"

namespace penstock {

// The path of the latest checkpoint in <out>/checkpoints, where `out` is a run directory. Throws
// Error(Input) when there is none.
[[nodiscard]] std::string newest_checkpoint(const std::string& out);

// Whether the tensor of this name is to be loaded.
using ChooseTensor = std::function<bool(const std::string& name)>;
// Loads this rank's parameters and buffers from `checkpoint`, which may have been written at any
// number of stages and replicas. Where the checkpoint has a moving average of a tensor, that is
// loaded instead of the tensor. `wanted` chooses tensors by name; empty: all. Throws Error(Input)
// naming the tensor that is missing or has another shape, Error(Data) naming a file that is
// damaged. Not collective.
void load_weights(const std::string& checkpoint, Pipeline& pipeline, Device& device,
                  const ChooseTensor& wanted = {});

}  // namespace penstock
