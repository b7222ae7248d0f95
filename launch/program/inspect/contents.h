// launch/program/inspect/contents.h -- what `penstock inspect` finds: the layers and tensors of a
// checkpoint, or of the network that a run file describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {

struct Contents {
  struct Entry {
    std::string name;
    std::vector<int64_t> shape;
    std::string dtype;  // as safetensors files say it: "F32"
    std::string file;   // of the checkpoint; empty: there is none yet
  };
  std::string heading;  // a line: what this is
  int64_t parameters = 0;
  std::vector<LayerRecord> layers;       // empty of a checkpoint that does not tell
  std::vector<Entry> tensors;            // of the model, layer by layer
  std::vector<Entry> optimizer_tensors;  // of a checkpoint
};

// Reads the documents and the heads of the files. Throws Error(Data) naming the file.
[[nodiscard]] Contents contents_of(const CheckpointReader& checkpoint);
// Builds the network and allocates nothing of it. Throws Error(Input).
[[nodiscard]] Contents contents_of(const Config& config, const ModelMaker& models);

// Tables for people, and JSON for programs: {parameters, layers, tensors}, and `optimizer_tensors`
// where there are some.
[[nodiscard]] std::string contents_table(const Contents& contents);
[[nodiscard]] std::string contents_json(const Contents& contents);

}  // namespace penstock
