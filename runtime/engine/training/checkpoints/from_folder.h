// runtime/engine/training/checkpoints/from_folder.h -- loads the weights of a Hugging Face folder
// (model.from) and the adapters of a folder that the library peft wrote (model.lora.from) into the
// parameters of this rank, before the first step.
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/network/models/config.h"

namespace penstock {

// Loads this rank's parameters, except those of adapters, from the folder model.from; their memory
// is allocated already. Reads only the tensors that this rank needs. Not collective: every rank
// calls it for itself. Throws as HubWeights does (runtime/records/hub): Error(Input) for a folder
// that is not supported, Error(Data) for a file that is damaged or missing.
void load_folder(const ModelConfig& model, Pipeline& pipeline, Device& device);

// Loads this rank's adapters from the folder model.lora.from. Not collective. Throws as
// AdapterWeights does (Error(Input) for a folder of another network, Error(Data) for a damaged
// file), and Error(Input) for a network of no family that runtime/records/hub knows, since the
// names of tensors in the folder depend on the family.
void load_adapters(const ModelConfig& model, Pipeline& pipeline, Device& device);

}  // namespace penstock
