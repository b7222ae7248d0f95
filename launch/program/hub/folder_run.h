// launch/program/hub/folder_run.h -- runs whose network comes from a Hugging Face folder
// (model.from).
#pragma once

#include <string>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Checks that the weights of the folders model.from and lora.from are those of the network that the
// configuration builds; reads their headers alone. Does nothing without such folders. Throws Error
// as HubWeights::check() and AdapterWeights::check() do.
void check_model_folder(const Config& config, const ModelMaker& models);
// Collective: rank 0 checks, and all ranks throw what it finds.
void check_model_folder(Collective& world, const Config& config, const ModelMaker& models);

// A copy of the configuration whose data are plain text, cut by the folder's tokenizer: for
// commands that read no data set.
[[nodiscard]] Config with_folder_text(const Config& config);

// Copies to the run directory what it keeps of the folder model.from; without model.from removes
// what an earlier run has kept there.
void keep_model_folder(const Config& config, const std::string& run_directory);

}  // namespace penstock
