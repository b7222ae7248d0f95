// launch/program/inspect/contents.h -- the data behind `penstock inspect`: the layers and tensors
// of a checkpoint, or of the network that a run file describes, and their printing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {

struct Contents {
  // One tensor.
  struct Entry {
    std::string name;
    std::vector<int64_t> shape;
    std::string dtype;  // its type as safetensors files name it, "F32"
    std::string file;   // the file of the checkpoint that holds it; empty: there is no checkpoint
  };
  // What a layer gives and costs, for one micro-batch of a training run.
  struct Work {
    std::vector<std::vector<int64_t>> outputs =
        {};                    // shapes: samples first, images [n, h, w, channels]
    double forward_flops = 0;  // a backward has about twice as many
    int64_t output_bytes = 0;  // what is sent where a stage ends here
    int64_t kept_bytes = 0;    // from forward to backward, without what the layer before it keeps
  };
  std::string heading;                   // a line that says what this is
  int64_t parameters = 0;                // how many numbers the layers' parameters have in all
  std::vector<LayerRecord> layers;       // empty: an older checkpoint, which does not name them
  std::vector<Work> work;                // by layer; empty: a checkpoint's, which does not tell
  std::vector<Entry> tensors;            // the network's, layer by layer
  std::vector<Entry> optimizer_tensors;  // a checkpoint's; else empty
};

// The contents of a checkpoint, from its documents and the headers of its files. Throws Error(Data)
// naming the file.
[[nodiscard]] Contents contents_of(const CheckpointReader& checkpoint);
// The contents of the network that the configuration describes; allocates no tensors. Throws
// Error(Input).
[[nodiscard]] Contents contents_of(const Config& config, const ModelMaker& models);

// Text for people.
[[nodiscard]] std::string contents_table(const Contents& contents);
// JSON for programs: {parameters, layers, tensors}, and optimizer_tensors where there are some. A
// layer has what contents.work tells of it, too.
[[nodiscard]] std::string contents_json(const Contents& contents);

}  // namespace penstock
