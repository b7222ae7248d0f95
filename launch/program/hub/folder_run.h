// launch/program/hub/folder_run.h -- runs whose network comes from a Hugging Face folder
// (model.from).
#pragma once

#include <string>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Whether the weights of the folders, model.from and lora.from, are those of the network that the
// configuration builds: reads their headers. Nothing without such folders. Throws Error as
// HubWeights::check() and AdapterWeights::check() do.
void check_model_folder(const Config& config, const ModelMaker& models);
// The same, collective: rank 0 looks, and all ranks throw.
void check_model_folder(Collective& world, const Config& config, const ModelMaker& models);

// The configuration with text by the folder's tokenizer as its data, for use without data.
[[nodiscard]] Config with_folder_text(const Config& config);

// What the run directory keeps of the folder. Nothing without model.from.
void keep_model_folder(const Config& config, const std::string& run_directory);

}  // namespace penstock
