// launch/program/hub/folder_run.h -- what runs do whose network comes from a Hugging Face folder
// (model.from) or whose adapters do (lora.from): check the folder before anything is allocated, and
// keep a part of it in the run directory.
#pragma once

#include <string>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Checks that the folders have the weights of the network that the configuration builds, by name
// and shape; reads only the headers of their files. Does nothing where model.from and lora.from are
// not set. Throws Error(Input) where a folder is not supported or is of another network, or where
// the tokenizer has more tokens than the network; Error(Data) where a file is damaged or missing
// (HubWeights::check(), AdapterWeights::check()).
void check_model_folder(const Config& config, const ModelMaker& models);
// The same on rank 0; collective, and all ranks throw what it finds.
void check_model_folder(Collective& world, const Config& config, const ModelMaker& models);

// A copy of the configuration whose data are plain text cut by the tokenizer in model.from: for
// commands that read no data set and still need the tokenizer.
[[nodiscard]] Config with_folder_text(const Config& config);

// Copies to the run directory the files of model.from that later commands need (its configuration
// and tokenizer, no weights); without model.from removes what an earlier run has kept there.
void keep_model_folder(const Config& config, const std::string& run_directory);

}  // namespace penstock
