// runtime/records/checkpoint/manifest.h -- the JSON documents beside the shards, as plain structs:
// state.json, the indexes of shards, manifest.json.
//
// The parsers take untrusted input: they throw Error(Data) naming `file` and the key, and file
// names in them are plain names, never paths out of the checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/format/file.h"

namespace penstock {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kStateFile = "state.json";

// A layer of the network, for programs that show a checkpoint.
struct LayerRecord {
  std::string name, kind;
  int64_t parameters = 0;  // numbers; tied ones count at their first layer
  bool operator==(const LayerRecord&) const = default;
};

// The state of the run: everything but the tensors.
struct CheckpointState {
  int64_t step = 0;
  uint64_t seed = 0;
  int64_t consumed_samples = 0;
  int64_t mini_batch = 0;        // samples of a step
  std::string version;           // of the program that wrote it
  std::string configuration;     // text of the effective run file
  std::string run = {};          // the identity of the run; empty in older files
  int64_t optimizer_steps = 0;   // updates made; older files: as many as steps
  int64_t training_samples = 0;  // of an epoch; 0 in older files
  int64_t training_content = 0;  // content_sum() of the text; 0: not known, and in older files
  bool owes_evaluation = false;  // the evaluation after `step` was due and is not done
  double loss = 0.0;             // of `step`, where the evaluation is owed
  std::vector<LayerRecord> layers = {};  // of the network; empty in older files
  bool operator==(const CheckpointState&) const = default;
};
[[nodiscard]] std::string encode_state(const CheckpointState& state);
[[nodiscard]] CheckpointState parse_state(const std::string& text, const std::string& file);

// The shard of each tensor: Hugging Face's model.safetensors.index.json.
struct ShardIndex {
  uint64_t total_size_bytes = 0;                  // of all tensors
  std::map<std::string, std::string> weight_map;  // tensor name -> file name
};
[[nodiscard]] std::string index_file(const std::string& part);  // its name; "model" | "optimizer"
[[nodiscard]] std::string encode_index(const ShardIndex& index);
[[nodiscard]] ShardIndex parse_index(const std::string& text, const std::string& file);

// The size and checksum of every other file of the checkpoint.
struct Manifest {
  std::map<std::string, FileDigest> files;  // by name
};
[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
[[nodiscard]] Manifest parse_manifest(const std::string& text, const std::string& file);

}  // namespace penstock
