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
    std::string file;   // the checkpoint's file that holds it; empty: a network without checkpoint
  };
  std::string heading;  // a line: what this is
  int64_t parameters = 0;
  std::vector<LayerRecord> layers;       // empty: an older checkpoint, which does not name them
  std::vector<Entry> tensors;            // of the model, layer by layer
  std::vector<Entry> optimizer_tensors;  // of a checkpoint; else empty
};

// Reads a checkpoint's documents and the headers of its files. Throws Error(Data) naming the file.
[[nodiscard]] Contents contents_of(const CheckpointReader& checkpoint);
// Builds the network of the configuration, and allocates none of its tensors. Throws Error(Input).
[[nodiscard]] Contents contents_of(const Config& config, const ModelMaker& models);

// Tables for people, and JSON for programs: {parameters, layers, tensors}, and `optimizer_tensors`
// where there are some.
[[nodiscard]] std::string contents_table(const Contents& contents);
[[nodiscard]] std::string contents_json(const Contents& contents);

}  // namespace penstock
