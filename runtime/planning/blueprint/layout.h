// runtime/planning/blueprint/layout.h -- which layers make which stage, and what crosses the
// boundaries. Pure.
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

// A parameter that several layers hold (ParameterSet::share).
struct LayerTie {
  std::string name;
  Shape shape;
  std::vector<size_t> layers;  // its holders, ascending; a layer twice if it holds it twice
  bool frozen = false;
};

// A tensor of a checkpoint's model.
struct NetworkTensor {
  std::string name;
  Shape shape;
  bool parameter = true;  // else a buffer
  bool frozen = false;
  size_t layer = 0;  // the layer that holds it; of a tied one the first
};

struct Layout {
  int stages = 1;
  std::vector<size_t> first_layer;   // stages + 1 entries: stage s has layers [s], [s + 1)
  std::vector<int64_t> parameters;   // numbers, by layer; of a tied one at its first holder
  std::vector<SkipPath> skips;       // all of the network's
  std::vector<LayerTie> ties;        // likewise
  std::vector<NetworkTensor> named;  // all of the network's, a tied one once
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
  // The stages that skips join over the heads of others, for Schedule::skips.
  [[nodiscard]] std::vector<Skip> stage_skips() const;
  [[nodiscard]] int64_t total_parameters() const;  // a tied one once
  // The number of parameters that a stage keeps. It has a copy of its own of those that are tied to
  // another stage's, so all stages together may keep more than there are.
  [[nodiscard]] int64_t parameters_kept(int stage) const;
  [[nodiscard]] int64_t frozen_parameters() const;  // numbers
  // The number of layers at the beginning of a stage that are before first_trained.
  [[nodiscard]] size_t untrained(int stage) const;
};

// The split given by hand (pipeline.split), or the one whose slowest stage is as fast as possible
// in this schedule, by times counted for a processor: the choice of device would only change the
// balance between layers of many FLOPs and layers of many parameters. Throws Error(Input) when
// there are more stages than layers, a layer does not fit the one before it, or optimizer.freeze
// has a pattern that fits no parameter or leaves nothing to train.
[[nodiscard]] Layout lay_out(const Sequential& model, const ModelInput& input, const Config& config,
                             const Schedule& training);

// A skip that leaves its stage. Lists of them are in the order of the stashes.
struct SkipRoute {
  int from = 0, to = 0;  // stages
  size_t to_layer = 0;   // of the pop
  TensorSpec spec;
};

// The tensors that pass between stages for micro-batches of `batch` samples.
struct Traffic {
  std::vector<std::vector<TensorSpec>> boundaries;  // what enters each stage; entry 0 is the data
  std::vector<SkipRoute> skips;                     // that leave their stage
  int first_trained = 0;  // the first stage that trains something: those before need no gradients
};
[[nodiscard]] Traffic traffic(const Sequential& model, const Layout& layout,
                              const ModelInput& input, int64_t batch, DType dtype);

// A hash of the layers, their parameters, the split and the boundaries.
[[nodiscard]] uint64_t fingerprint(const Sequential& model, const Layout& layout,
                                   const Traffic& traffic);

// Refuses a network that does not end in a loss, or that has two parameters of one name.
void check_model(const Sequential& model, const ModelInput& input, int64_t batch);

}  // namespace penstock
