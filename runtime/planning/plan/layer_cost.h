// runtime/planning/plan/layer_cost.h -- the costs of each layer of a network: time and memory,
// counted or measured, for one size of micro-batch. Made by runtime/planning/costs, read by plan().
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The way a mini-batch is cut, as far as the layers' costs depend on it.
struct MicroBatches {
  int64_t size = 1;
  // Whether a pipeline has several micro-batches between two updates. A single one need not keep
  // copies of weights that no other would read, and pays for them in its forward and its backward
  // (Weight::read_once).
  bool several = true;
  auto operator<=>(const MicroBatches&) const =
      default;  // NOLINT(modernize-use-nullptr): none here
};

// A batch field, as it is copied to a device with memory of its own.
struct DataField {
  std::string name;
  int64_t bytes = 0;  // of one micro-batch
};

struct LayerCost {
  std::string name, kind;
  int64_t parameters = 0;  // numbers trained; a tied one is counted at its first layer

  // One micro-batch, seconds. backward_s is both halves at once.
  double forward_s = 0, backward_input_s = 0, backward_weight_s = 0, backward_s = 0;
  double forward_flops = 0;
  double update_s = 0;  // once per step: gradients cleared, norm, optimizer

  // One micro-batch, bytes.
  int64_t input_bytes = 0;   // of the tuple that enters; 0 for data
  int64_t output_bytes = 0;  // of the tuple that leaves: what a boundary here carries
  // The bytes that the tape keeps from forward to backward, without the layer's input unless it
  // must be kept just for this layer: sums over consecutive layers give a stage's tape.
  int64_t tape_bytes = 0;
  // The bytes of the input that the layer keeps on its tape, but that the layer before keeps too
  // and is charged with: a stage that starts here keeps them on top of its sum.
  int64_t shared_input_bytes = 0;
  int64_t weight_half_bytes =
      0;  // of that, or in its place, from the input half to the weight half
  // The most bytes in use at once beyond those that are there before. The tape, inputs and outputs
  // are included, but not the inputs of the first layer, which are data.
  int64_t forward_peak_bytes = 0;   // without a tape
  int64_t record_peak_bytes = 0;    // with one, its tape_bytes included
  int64_t backward_peak_bytes = 0;  // beyond the tape, the gradient that enters included
  int64_t backward_input_peak_bytes = 0;

  // False where neither this layer nor any before it is trained: it is never differentiated or run
  // again, and keeps nothing. Counted for a run, not kept in profiles.
  bool differentiated = true;
  // Empty where the device reads the host's memory. Counted for a run, not kept in profiles.
  std::vector<DataField> reads;

  // For the whole run, bytes.
  int64_t parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  int64_t workspace_bytes = 0;  // packed and narrowed copies of weights
};

// A tensor that goes from one layer directly to a later one, past those between.
struct LayerSkip {
  int from_layer = 0, to_layer = 0;
  int64_t bytes = 0;  // of one micro-batch
};

struct ModelCosts {
  std::string device;  // where measured or what it was counted for
  int64_t micro_batch_size = 1;
  std::vector<LayerCost> layers;
  std::vector<LayerSkip> skips = {};
  double wire_share = 1;  // of a boundary's bytes, what a message between ranks has (pipeline.wire)
};

}  // namespace penstock
