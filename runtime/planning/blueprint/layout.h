// runtime/planning/blueprint/layout.h -- lay_out(): decides which layers of the network make which
// stage; traffic(): lists the tensors that then pass from stage to stage.
//
// A Layout answers what the rest of a run asks about the cut network: the layers of a stage, the
// stage of a layer, which parameters and skip connections there are and where. It is made from the
// network and the configuration alone, the same on every rank; nothing here has side effects.
// Layers are numbered from 0 over the whole network, stages from 0 over the pipeline.
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

// A tied parameter: one parameter that several layers hold (shared weights), such as an embedding
// that is also the last projection.
struct LayerTie {
  std::string name;
  Shape shape;
  std::vector<size_t> layers;  // that hold it, ascending; a layer stands twice if it uses it twice
  bool frozen = false;         // optimizer.freeze excludes it from training
};

// A parameter, or a buffer (state that is not trained, such as running statistics), of the network.
// Checkpoints store one tensor for each.
struct NetworkTensor {
  std::string name;
  Shape shape;
  bool parameter = true;  // false: a buffer
  bool frozen = false;    // optimizer.freeze excludes it from training
  size_t layer = 0;       // the layer that holds it; the first one of several
};

struct Layout {
  int stages = 1;
  // Stage s has the layers [first_layer[s], first_layer[s + 1]); stages + 1 entries.
  std::vector<size_t> first_layer;
  // One per layer: how many parameters (elements) it has. A tied parameter counts at its first
  // layer only.
  std::vector<int64_t> parameters;
  std::vector<SkipPath> skips;       // the skip connections of the whole network
  std::vector<LayerTie> ties;        // the tied parameters of the whole network
  std::vector<NetworkTensor> named;  // all parameters and buffers; a tied parameter once
  // The first layer with a parameter that is trained (0 where nothing is frozen). The layers before
  // it are not differentiated.
  size_t first_trained = 0;

  // The layers of a stage: a part of `model`, which must be the network that was laid out.
  [[nodiscard]] std::span<const std::unique_ptr<Layer>> layers_of(const Sequential& model,
                                                                  int stage) const {
    const auto s = static_cast<size_t>(stage);
    return std::span(model.layers).subspan(first_layer[s], first_layer[s + 1] - first_layer[s]);
  }
  [[nodiscard]] std::vector<int> split() const;  // by stage: the number of its layers
  [[nodiscard]] int stage_of(size_t layer) const;
  // The pairs of stages that are joined by a skip connection and are not neighbours, each pair
  // once, for Schedule::skips.
  [[nodiscard]] std::vector<Skip> stage_skips() const;
  // The number of parameters (elements) of the network; a tied parameter counts once.
  [[nodiscard]] int64_t total_parameters() const;
  // The number of parameters (elements) that a stage keeps. A tied parameter counts in each stage
  // that holds it, so the sum over stages may exceed total_parameters().
  [[nodiscard]] int64_t parameters_kept(int stage) const;
  [[nodiscard]] int64_t frozen_parameters() const;  // elements; a tied parameter once
  // How many layers of a stage, from its first, come before the layer first_trained.
  [[nodiscard]] size_t untrained(int stage) const;
};

// Cuts the network into config.pipeline.stages stages. The cut is pipeline.split where it is given.
// Otherwise it is the cut whose slowest stage is as fast as possible in the schedule `training`, by
// layer times that are counted for a usual processor, whatever the run's device. Throws
// Error(Input) when there are more stages than layers, when a layer cannot take the output of the
// layer before it, or when optimizer.freeze has a pattern that matches no parameter or leaves
// nothing to train.
[[nodiscard]] Layout lay_out(const Sequential& model, const ModelInput& input, const Config& config,
                             const Schedule& training);

// A skip connection whose two layers (the `stash` layer, which puts a tensor aside, and the `pop`
// layer, which takes it) are in different stages.
struct SkipRoute {
  int from = 0, to = 0;  // stages
  size_t to_layer = 0;   // the number of the `pop` layer
  TensorSpec spec;       // of the tensor for one micro-batch
};

// The tensors that pass between stages for one micro-batch.
struct Traffic {
  std::vector<std::vector<TensorSpec>> boundaries;  // by stage: what enters it; [0]: the data
  std::vector<SkipRoute> skips;                     // ordered by their `stash` layers
  // The first stage with a trained parameter. No gradients pass to the stages before it.
  int first_trained = 0;
};
// The traffic of micro-batches of `batch` samples, with activations of type `dtype`.
[[nodiscard]] Traffic traffic(const Sequential& model, const Layout& layout,
                              const ModelInput& input, int64_t batch, DType dtype);

// A hash of the layers, their parameters, the split and the tensors at the boundaries. Ranks
// compare it when a run starts, to find a rank that has another network.
[[nodiscard]] uint64_t fingerprint(const Sequential& model, const Layout& layout,
                                   const Traffic& traffic);

// Throws Error(Input), which names where `section` was said, for the network that was made of it if
// it does not end in a loss, or if its layers or skips do not fit each other, with `batch` samples.
void check_model(const ModelConfig& section, const Sequential& model, const ModelInput& input,
                 int64_t batch);

}  // namespace penstock
