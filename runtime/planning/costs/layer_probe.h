// runtime/planning/costs/layer_probe.h -- LayerProbe: runs one layer of a network alone on a device
// and finds the time of each of its passes and the memory that it keeps; layer_costs.h makes a
// probe for each layer in turn.
//
// The probe makes a Stage with this layer only and runs the passes (forward, backward,
// backward_input, backward_weight, update) on made-up tensors. The device's allocator says how much
// memory is in use, a Meter how much time has gone by. Order of calls: memory(), then times() as
// often as wanted.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/network/optimizer/average.h"
#include "runtime/network/optimizer/optimizer.h"
#include "runtime/network/stage/stage.h"
#include "runtime/planning/costs/probe_data.h"

namespace penstock {

// Whether the layer has a parameter that is trained: whose name matches no pattern in `freeze`.
[[nodiscard]] bool trains(const Layer& layer, std::span<const std::string> freeze);

// Seconds and FLOPs: since some fixed moment when a Meter returns it, or the difference of two.
struct Reading {
  double seconds = 0, flops = 0;
};
// Reads a clock: the real one, or the sums of the counting device.
using Meter = std::function<Reading()>;

// The times of one run of each pass, for one micro-batch.
struct ProbeTimes {
  // `backward` is both halves at once; the halves are for the gradient of the inputs and for those
  // of the weights.
  Reading forward, backward, backward_input, backward_weight;
  double update_s = 0;  // once per step: norm of the gradients, optimizer, averages, clearing
  // The seconds that forward and backward together take more right after an update than later,
  // since they must then convert the changed weights to the layouts in which kernels read them.
  // Noise may make it negative.
  double copies_s = 0;
};

// The bytes that stay in use between two passes. Tensors that enter or leave the layer are listed
// one by one, since a neighbouring layer may keep them, too (kept_once.h).
struct Kept {
  int64_t own = 0;                       // of all other tensors
  std::vector<int64_t> inputs, outputs;  // bytes of each input and output tensor; 0: not kept
};

// The memory of the layer for one micro-batch, in bytes. The tape is what a forward records for its
// backward (autograd graph).
struct ProbeMemory {
  Kept tape;  // kept from forward to backward
  Kept half;  // kept from backward_input to backward_weight
  // One per output: the number of the input whose memory it shares (as after a reshape); -1: none.
  std::vector<int> view_of;
  // The most bytes in use at once during a forward without a tape, in training or in an evaluation
  // (forward_peak), and a forward that records one (record_peak), inputs included; and during
  // backward and backward_input, beyond the tape.
  int64_t forward_peak = 0, record_peak = 0, backward_peak = 0, backward_input_peak = 0;
  // Bytes that stay for the whole run: weights, their gradients, the optimizer's state.
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  int64_t whole = 0;           // bytes of the largest weight that one replica updates as a whole
  int64_t update_scratch = 0;  // bytes that an update needs beside the optimizer's state
  int64_t saved_weights = 0, saved_states = 0;  // bytes that a checkpoint has of the layer
  int64_t workspace = 0;  // bytes of copies of the weights in other layouts or types
};

// What of the layer's place in its network changes its costs.
struct ProbePlace {
  bool first = false;  // whether its inputs are data, which have no gradients
  bool wanted = true;  // whether the gradients of its inputs are computed
};

class LayerProbe {
 public:
  // `inputs` are the shapes of the tensors that enter, micro-batch included. `layer` and `setup`
  // must outlive the probe.
  LayerProbe(const std::unique_ptr<Layer>& layer, const Shapes& inputs, ProbePlace place,
             const ProbeSetup& setup, Device& device);
  LayerProbe(const LayerProbe&) = delete;
  LayerProbe& operator=(const LayerProbe&) = delete;

  // Measures the memory. Must be called before times(): it runs all passes once, which warms up the
  // device.
  [[nodiscard]] ProbeMemory memory();
  // Measures the times of one run of each pass. `chill` (may be empty) is called before each pass,
  // while the meter is not read: to fill the caches with other data.
  [[nodiscard]] ProbeTimes times(const Meter& meter, const std::function<void()>& chill);

  // Runs one forward and one backward without measuring.
  void run();
  // Runs one forward of an evaluation without measuring.
  void evaluate();

 private:
  // Copies of the patterns, for one pass.
  [[nodiscard]] Tensors fresh(const Tensors& patterns) const;
  [[nodiscard]] Tensors inputs() const;
  // The bytes that are in use on the device now.
  [[nodiscard]] int64_t in_use() const;
  // The parts of memory(): each runs some passes and fills in some of the members.
  void read_recording(ProbeMemory& memory);
  void read_halves(ProbeMemory& memory);
  void read_plain_forward(ProbeMemory& memory);
  // Frees the tensors one by one, and so finds out which of them the layer keeps as well. `before`:
  // the bytes in use before the outputs were made, inputs included.
  [[nodiscard]] Kept let_go(Tensors outputs, Tensors inputs, int64_t before,
                            const std::vector<int>& view_of) const;
  // Runs all that a training step does between its last backward and the next step.
  void update();
  bool first_;  // ProbePlace::first
  Device& device_;
  Stage stage_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  // null: none
  int64_t update_scratch_ = 0;              // bytes, ProbeMemory::update_scratch
  Tensor squares_;                          // receives the sums of squares of the gradients
  // Made-up inputs and gradients of the outputs, from which each pass gets copies.
  Tensors input_patterns_, gradient_patterns_;
  // The batch fields that the layer reads (such as "labels"), and made-up values for each.
  std::vector<std::string> field_names_;
  std::vector<Tensor> fields_;
  MicroBatch batch_;
};

}  // namespace penstock
