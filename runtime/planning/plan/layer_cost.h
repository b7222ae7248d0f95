// runtime/planning/plan/layer_cost.h -- the costs of each layer of a network: time and memory,
// counted or measured, for one size of micro-batch. Made by runtime/planning/costs, read by plan().
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The cut of a replica's samples into micro-batches, as far as the layers' costs depend on it.
struct MicroBatches {
  int64_t size = 1;  // samples of a micro-batch
  // Whether there are several micro-batches between two updates. With a single one, weights' copies
  // in other layouts are not kept but made in its forward and again in its backward
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
  int64_t parameters = 0;  // trained numbers; of a tied parameter at its first layer

  // Seconds for one micro-batch. backward_s is both halves at once.
  double forward_s = 0, backward_input_s = 0, backward_weight_s = 0, backward_s = 0;
  double forward_flops = 0;  // of one micro-batch
  double update_s = 0;       // once per step: gradients cleared, norm, optimizer

  // Bytes for one micro-batch.
  int64_t input_bytes = 0;   // of the tuple that enters; 0 for data
  int64_t output_bytes = 0;  // of the tuple that leaves: what a boundary here carries
  // The bytes that the tape keeps from forward to backward, without inputs that the layer before
  // keeps too. So the sum over consecutive layers is a stage's tape, but for its first layer's
  // shared_input_bytes.
  int64_t tape_bytes = 0;
  // The bytes of inputs on the tape that are counted in the tape_bytes of the layer before, which
  // keeps them too: a stage that starts here keeps them on top of its sum.
  int64_t shared_input_bytes = 0;
  // The bytes that are kept from the input half to the weight half, in place of the tape.
  int64_t weight_half_bytes = 0;
  // Peaks: the most bytes in use at once during a verb, tape, inputs and outputs included, but not
  // the inputs of the first layer, which are data.
  int64_t forward_peak_bytes = 0;   // without a tape
  int64_t record_peak_bytes = 0;    // with one, its tape_bytes included
  int64_t backward_peak_bytes = 0;  // beyond the tape; includes the gradient that enters
  int64_t backward_input_peak_bytes = 0;

  // False where neither this layer nor any before it is trained: the layer is never differentiated
  // or run again, and keeps nothing. Found for a run, not stored in profiles.
  bool differentiated = true;
  // The batch fields that the layer reads; empty where the device reads the host's memory. Found
  // for a run, not stored in profiles.
  std::vector<DataField> reads;

  // Bytes for the whole run.
  int64_t parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  int64_t workspace_bytes = 0;  // packed and narrowed copies of weights
};

// A tensor that goes from one layer directly to a later one, past the layers between.
struct LayerSkip {
  int from_layer = 0, to_layer = 0;
  int64_t bytes = 0;  // of one micro-batch
};

struct ModelCosts {
  std::string device;  // on which they were measured, or for which they were counted
  int64_t micro_batch_size = 1;
  std::vector<LayerCost> layers;
  std::vector<LayerSkip> skips = {};
  double wire_share = 1;  // message bytes / tensor bytes between ranks (pipeline.wire)
};

}  // namespace penstock
