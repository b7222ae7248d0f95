// runtime/records/hub/adapters/export_adapter.h -- export_adapter(): writes the LoRA adapters of a
// checkpoint as a folder that Hugging Face's peft library can load.
#pragma once

#include "runtime/records/hub/export_folder.h"

namespace penstock {

// Writes the new folder request.to with adapter_config.json, adapter_model.safetensors (all
// adapters, with the settings request.lora; their running averages where the run keeps averages),
// and the tokenizer's files with the chat template. If it throws, there is no folder. Throws Error:
// of kind Input if request.to exists, if the checkpoint has no adapters, or if peft has no name for
// one of them; Data for a damaged checkpoint; Resource for a full disk.
Exported export_adapter(const ExportRequest& request);

}  // namespace penstock
