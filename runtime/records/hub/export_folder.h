// runtime/records/hub/export_folder.h -- writes a checkpoint as a Hugging Face folder: what the run
// has kept of the folder that its network came from, with the checkpoint's weights.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/network/models/config.h"

namespace penstock {

struct ExportRequest {
  std::string checkpoint;  // a step directory
  // The folder that has config.json and the small files beside it (kept_folder.h). With `config` it
  // has the tokenizer's files alone, or is empty.
  std::string folder;
  std::string config = {};     // config.json of a network that came from no folder; else empty
  std::string to;              // a new folder
  std::string dtype = "fp32";  // fp32 | bf16
  uint64_t shard_bytes = 0;    // most bytes of a file; a larger tensor has one
  std::string base = {};       // adapters: base_model_name_or_path; empty: what the run knows
  LoraConfig lora = {};  // the run's adapters, which are added to the weights; lora.rank 0: none
};

struct Exported {
  size_t tensors = 0, files = 0;
  uint64_t size_bytes = 0;  // of all tensors
};

// Writes the folder: weights averaged where the run has averages, with adapters added to their
// matrices. Holds one tensor in memory at most. The folder is complete or absent. Throws Error: of
// kind Input where `to` exists or the checkpoint is of another network than config.json's, Data for
// a damaged checkpoint, Resource for a full disk.
Exported export_folder(const ExportRequest& request);

}  // namespace penstock
