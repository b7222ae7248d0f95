// runtime/planning/blueprint/layout.h -- lay_out(): which layers make which stage; traffic(): what
// crosses the boundaries between stages. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/network/layers/skip.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// A parameter that several layers hold.
struct LayerTie {
  std::string name;
  Shape shape;
  std::vector<size_t> layers;  // its holders, ascending; a layer twice if it holds it twice
  bool frozen = false;
};

// A parameter or buffer of the network, as checkpoints list them.
struct NetworkTensor {
  std::string name;
  Shape shape;
  bool parameter = true;  // else a buffer
  bool frozen = false;
  size_t layer = 0;  // the layer that holds it; of a tied one the first
};

struct Layout {
  int stages = 1;
  std::vector<size_t> first_layer;   // stage s has layers [first_layer[s], first_layer[s + 1])
  std::vector<int64_t> parameters;   // numbers, by layer; of a tied parameter at its first holder
  std::vector<SkipPath> skips;       // all of the network's
  std::vector<LayerTie> ties;        // all of the network's
  std::vector<NetworkTensor> named;  // parameters and buffers, a tied parameter once
  // The first layer that trains something; 0 where nothing is frozen. The layers before it need no
  // gradients.
  size_t first_trained = 0;

  [[nodiscard]] std::span<const std::unique_ptr<Layer>> layers_of(const Sequential& model,
                                                                  int stage) const {
    const auto s = static_cast<size_t>(stage);
    return std::span(model.layers).subspan(first_layer[s], first_layer[s + 1] - first_layer[s]);
  }
  [[nodiscard]] std::vector<int> split() const;  // layers of each stage
  [[nodiscard]] int stage_of(size_t layer) const;
  // The pairs of stages that skips join past others, for Schedule::skips.
  [[nodiscard]] std::vector<Skip> stage_skips() const;
  [[nodiscard]] int64_t total_parameters() const;  // a tied parameter once
  // The number of parameters that a stage keeps. A parameter that several stages hold counts in
  // each, so all stages together may keep more than total_parameters().
  [[nodiscard]] int64_t parameters_kept(int stage) const;
  [[nodiscard]] int64_t frozen_parameters() const;  // numbers
  // The number of layers at the beginning of a stage that are before first_trained.
  [[nodiscard]] size_t untrained(int stage) const;
};

// Lays the network out by pipeline.split or, where that is empty, so that the slowest stage is as
// fast as possible in this schedule, by times counted for a processor: another device would only
// change the balance between layers of many FLOPs and layers of many parameters. Throws
// Error(Input) when there are more stages than layers, a layer does not fit the one before it, or
// optimizer.freeze has a pattern that fits no parameter or leaves nothing to train.
[[nodiscard]] Layout lay_out(const Sequential& model, const ModelInput& input, const Config& config,
                             const Schedule& training);

// A skip that leaves its stage.
struct SkipRoute {
  int from = 0, to = 0;  // stages
  size_t to_layer = 0;   // of the pop
  TensorSpec spec;       // shape and type
};

// The tensors that pass between stages for micro-batches of `batch` samples.
struct Traffic {
  std::vector<std::vector<TensorSpec>> boundaries;  // tensors that enter each stage; [0]: the data
  std::vector<SkipRoute> skips;                     // all that leave their stage, by stash
  int first_trained = 0;  // first stage that trains something; stages before need no gradients
};
[[nodiscard]] Traffic traffic(const Sequential& model, const Layout& layout,
                              const ModelInput& input, int64_t batch, DType dtype);

// A hash of the layers, their parameters, the split and the boundaries.
[[nodiscard]] uint64_t fingerprint(const Sequential& model, const Layout& layout,
                                   const Traffic& traffic);

// Throws Error(Input) for a network that does not end in a loss, or whose layers or skips do not
// fit each other.
void check_model(const Sequential& model, const ModelInput& input, int64_t batch);

}  // namespace penstock
