// runtime/records/hub/adapters/export_adapter.h -- writes the adapters of a checkpoint as a folder
// that peft reads.
#pragma once

#include "runtime/records/hub/export_folder.h"

namespace penstock {

// Writes adapter_config.json, all adapters (request.lora) to one adapter_model.safetensors,
// averaged where the run has averages, and the files of the tokenizer, chat template included. The
// folder is complete or absent. Throws Error: of kind Input where `to` exists, where the checkpoint
// has no adapters, and where peft has no name for one of them; Data for a damaged checkpoint,
// Resource for a full disk.
Exported export_adapter(const ExportRequest& request);

}  // namespace penstock
