// runtime/training/checkpoints/from_folder.h -- starting from the weights of a Hugging Face folder
// (`--model.from`).
#pragma once

#include <string>

#include "runtime/models/config.h"
#include "runtime/pipeline/pipeline.h"

namespace penstock {

// This rank's parameters from the folder model.from, which have memory; it reads no others. Throws
// Error as HubWeights does.
void load_folder(const ModelConfig& model, Pipeline& pipeline, Device& device);

}  // namespace penstock
