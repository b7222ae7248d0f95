// runtime/records/hub/export_folder.h -- export_folder(): writes a checkpoint as a Hugging Face
// model folder that transformers can load: config.json, weights, tokenizer.
//
// Weights are read from the checkpoint: running averages where the run keeps averages, with LoRA
// adapters added to their matrices. The other files come from the folder that the network was
// loaded from, of which the run has kept a copy (kept_folder.h).
#pragma once

#include <cstdint>
#include <string>

#include "runtime/network/models/config.h"

namespace penstock {

struct ExportRequest {
  std::string checkpoint;  // the directory of one checkpoint, ".../step-00000100"
  // The folder from which config.json, the tokenizer's files and generation_config.json are copied.
  // If `config` is set, it is a folder with a tokenizer's files only, or empty: then nothing is
  // copied.
  std::string folder;
  // The text of config.json for a network that came from no folder (made_config.h); else empty.
  std::string config = {};
  std::string to;              // the folder to write, which must not exist
  std::string dtype = "fp32";  // fp32 | bf16: the type of the weights in it
  // The most bytes of a file of weights; a tensor that is larger has a file of its own.
  uint64_t shard_bytes = 0;
  // The member base_model_name_or_path in adapter_config.json, for export_adapter() only; empty:
  // the folder that the run's network came from.
  std::string base = {};
  LoraConfig lora = {};  // settings of the run's adapters; lora.rank 0: it has none
};

struct Exported {
  size_t tensors = 0, files = 0;  // how many tensors were written, to how many files
  uint64_t size_bytes = 0;        // of all tensors
  // Learned positions of the run, and of the folder that it came from, which may have had more.
  int64_t positions = 0, folder_positions = 0;
  bool unpacked = false;  // the folder that it came from had MXFP4 weights
};

// Writes the folder. Needs memory for one tensor at most. If it throws, there is no folder. Throws
// Error: of kind Input if `to` exists or the checkpoint's network is not that of config.json; Data
// for a damaged checkpoint; Resource for a full disk.
Exported export_folder(const ExportRequest& request);

}  // namespace penstock
