// runtime/records/checkpoint/manifest.h -- the JSON files of a checkpoint as plain structs, and
// functions that write and read their text: state.json (the state of the run, without tensors), the
// indexes (which tensor is in which file), manifest.json (checksums of all files).
//
// checkpoint.h shows the files of a checkpoint. The parse_...() functions take text that may be
// damaged or forged: they throw Error(Data), naming `file` (the path, for messages) and the key
// that is wrong. Names of files in such text must be plain names; a path that could lead out of the
// checkpoint is refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/format/file.h"

namespace penstock {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kStateFile = "state.json";

// A layer of the network. `penstock inspect` shows it; nothing is restored from it.
struct LayerRecord {
  std::string name, kind;
  int64_t parameters = 0;  // elements; a parameter of several layers counts at the first of them
  bool operator==(const LayerRecord&) const = default;
};

// The best evaluation on validation data so far, by the metric of checkpoint.best.
struct BestEvaluation {
  int64_t step = 0;    // after which it was made; 0: there is none
  double value = 0.0;  // of the metric, finite; without a meaning where step is 0
  int64_t since = 0;   // how many evaluations were made after it; where step is 0, how many in all
  // How many samples the validation data had. Evaluations on data with another number are not
  // compared with it. 0: there is none, or it is of an older file.
  int64_t samples = 0;
  bool operator==(const BestEvaluation&) const = default;
};

// state.json: the state of the run without tensors. Files of older versions lack some keys; the
// members then have the values given as "older files".
struct CheckpointState {
  int64_t step = 0;              // how many steps are done
  uint64_t seed = 0;             // run.seed
  int64_t consumed_samples = 0;  // training samples used so far: where the data goes on
  int64_t mini_batch = 0;        // samples of a step
  std::string version;           // of the program that wrote it
  std::string configuration;     // the run file, with all options that were in effect
  std::string run = {};          // the identity of the run; older files: empty
  int64_t optimizer_steps = 0;   // updates made (a step can skip its update); older files: `step`
  int64_t training_samples = 0;  // samples of one epoch of the training data; older files: 0
  int64_t training_content = 0;  // a hash of the training text; 0: not known, and in older files
  // The evaluation after `step` was due and has not been done: a resumed run does it first.
  bool owes_evaluation = false;
  double loss = 0.0;                     // the loss of `step`; only if owes_evaluation
  std::vector<LayerRecord> layers = {};  // of the network; older files: empty
  std::string best_metric = {};          // of `best`: loss | accuracy; empty: none is looked for
  BestEvaluation best = {};
  // Whether this checkpoint was the best one when it was written.
  [[nodiscard]] bool is_best() const { return best.step > 0 && best.step == step; }
  bool operator==(const CheckpointState&) const = default;
};
[[nodiscard]] std::string encode_state(const CheckpointState& state);
[[nodiscard]] CheckpointState parse_state(const std::string& text, const std::string& file);

// An index: in which file (shard) each tensor is. It has the form of Hugging Face's
// model.safetensors.index.json.
struct ShardIndex {
  uint64_t total_size_bytes = 0;  // of all tensors; 0: the file does not say it as a whole number
  std::map<std::string, std::string> weight_map;  // tensor name -> file name
};
// The name of the index of `part`, which is "model" or "optimizer": "model.safetensors.index.json".
[[nodiscard]] std::string index_file(const std::string& part);
[[nodiscard]] std::string encode_index(const ShardIndex& index);
[[nodiscard]] ShardIndex parse_index(const std::string& text, const std::string& file);

// manifest.json: size and checksum of every other file of the checkpoint.
struct Manifest {
  std::map<std::string, FileDigest> files;  // by file name
};
[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
[[nodiscard]] Manifest parse_manifest(const std::string& text, const std::string& file);

}  // namespace penstock
