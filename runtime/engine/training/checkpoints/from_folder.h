// runtime/engine/training/checkpoints/from_folder.h -- starting from the weights of a Hugging Face
// folder
// (`--model.from`), and from the adapters of one that peft writes (`--lora.from`).
#pragma once

#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/network/models/config.h"

namespace penstock {

// This rank's parameters, but for those of adapters, from the folder model.from, which have memory;
// it reads no others. Throws Error as HubWeights does.
void load_folder(const ModelConfig& model, Pipeline& pipeline, Device& device);

// This rank's adapters from the folder model.lora.from. Throws Error as AdapterWeights does, and of
// kind Input for a network that no family says (names of theirs are a family's).
void load_adapters(const ModelConfig& model, Pipeline& pipeline, Device& device);

}  // namespace penstock
