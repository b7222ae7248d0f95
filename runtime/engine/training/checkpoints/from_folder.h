// runtime/engine/training/checkpoints/from_folder.h -- loads the weights of a Hugging Face folder
// (`--model.from`) and the adapters of a folder that peft wrote (`--lora.from`).
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/network/models/config.h"

namespace penstock {

// Loads this rank's parameters, except those of adapters, from the folder model.from into the
// memory that they must have already. Reads no other tensors. Throws Error as HubWeights does.
void load_folder(const ModelConfig& model, Pipeline& pipeline, Device& device);

// Loads this rank's adapters from the folder model.lora.from. Throws Error as AdapterWeights does,
// and Error(Input) for a network of no known family, since the names in the folder are a family's.
void load_adapters(const ModelConfig& model, Pipeline& pipeline, Device& device);

}  // namespace penstock
