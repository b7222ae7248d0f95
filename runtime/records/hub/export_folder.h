// runtime/records/hub/export_folder.h -- a checkpoint as a Hugging Face folder: what a run has kept
// of the folder that its network came from, with the weights that it has now.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/network/models/config.h"

namespace penstock {

struct ExportRequest {
  std::string checkpoint;  // a step directory
  // config.json and what belongs to it (kept_folder.h); with `config` the tokenizer's files alone,
  // or empty
  std::string folder;
  std::string config = {};     // of a network that came from no folder (made_config.h); else empty
  std::string to;              // a new folder
  std::string dtype = "fp32";  // fp32 | bf16
  uint64_t shard_bytes = 0;    // most of a file, but a tensor is never cut
  std::string base = {};       // of adapters: base_model_name_or_path; empty: as the run knows it
  LoraConfig lora = {};        // the run's adapters, which become part of the weights; rank 0: none
};

struct Exported {
  size_t tensors = 0, files = 0;
  uint64_t size_bytes = 0;  // of all tensors
};

// Writes averaged weights where the run has them, with adapters added to their matrices. Holds one
// tensor in memory at most. The folder is complete or absent. Throws Error: of kind Input where
// `to` exists or the checkpoint is of another network than config.json's, Data for a damaged
// checkpoint, Resource for a full disk.
Exported export_folder(const ExportRequest& request);

}  // namespace penstock
