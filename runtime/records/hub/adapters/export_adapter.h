// runtime/records/hub/adapters/export_adapter.h -- the adapters of a checkpoint as a folder that
// peft reads.
#pragma once

#include "runtime/records/hub/export_folder.h"

namespace penstock {

// Writes adapter_config.json and adapter_model.safetensors, averaged where the run has averages,
// and the files of the tokenizer, chat template included; request.lora says the adapters, and all
// of them go into one file. The folder is there whole, or not at all. Throws Error: of kind Input
// where `to` exists, where the checkpoint has no adapters, and where peft has no name for one of
// them; Data for a damaged checkpoint, Resource for a full disk.
Exported export_adapter(const ExportRequest& request);

}  // namespace penstock
