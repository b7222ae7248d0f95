// runtime/planning/costs/layer_probe.h -- LayerProbe: one layer alone on a device, run through
// every verb of a stage, its memory read from the device's accounts and its time from a meter. The
// part that layer_costs.h is made of.
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

// Whether the layer has a parameter that no pattern of `freeze` names.
[[nodiscard]] bool trains(const Layer& layer, std::span<const std::string> freeze);

// The state of a meter: all that was done so far.
struct Reading {
  double seconds = 0, flops = 0;
};
using Meter = std::function<Reading()>;

// One run of every verb.
struct ProbeTimes {
  Reading forward, backward, backward_input, backward_weight;
  double update_s = 0;
  // The time by which forward and backward are longer when the weights have just changed: their
  // copies in the library's layouts are made anew. Noise may make it negative.
  double copies_s = 0;
};

// Bytes that stay in use between two verbs. Tensors that enter or leave the layer are told apart
// from its own: a neighbour may keep them too, and they must be counted once.
struct Kept {
  int64_t own = 0;
  std::vector<int64_t> inputs, outputs;  // by tensor of the tuple; 0: not kept
};

struct ProbeMemory {
  Kept tape;  // from forward to backward
  Kept half;  // from backward_input to backward_weight
  // The input that each output is a view of, or -1.
  std::vector<int> view_of;
  // The most in use at once: the forwards beyond what is there without inputs, the backwards beyond
  // the tape.
  int64_t forward_peak = 0, record_peak = 0, backward_peak = 0, backward_input_peak = 0;
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  int64_t workspace = 0;  // forms of the weights
};

// The place of the layer in its network.
struct ProbePlace {
  bool first = false;  // the inputs are data
  bool wanted = true;  // the gradients of the inputs are wanted
};

class LayerProbe {
 public:
  // `layer` and `setup` must outlive the probe.
  LayerProbe(const std::unique_ptr<Layer>& layer, const Shapes& inputs, ProbePlace place,
             const ProbeSetup& setup, Device& device);
  LayerProbe(const LayerProbe&) = delete;
  LayerProbe& operator=(const LayerProbe&) = delete;

  // Serves as the warm-up: afterwards every verb has run.
  [[nodiscard]] ProbeMemory memory();
  // Runs `chill` before each verb, outside the meter.
  [[nodiscard]] ProbeTimes times(const Meter& meter, const std::function<void()>& chill);

  // Runs one forward and one backward, and reads no meter.
  void run();

 private:
  [[nodiscard]] Tensors fresh(const Tensors& patterns) const;
  [[nodiscard]] Tensors inputs() const;
  [[nodiscard]] int64_t in_use() const;
  void read_recording(ProbeMemory& memory);
  void read_halves(ProbeMemory& memory);
  void read_plain_forward(ProbeMemory& memory);
  [[nodiscard]] Kept let_go(Tensors outputs, Tensors inputs, int64_t before,
                            const std::vector<int>& view_of) const;
  void update();

  bool first_;
  Device& device_;
  Stage stage_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;      // null: none
  Tensor squares_;                              // of the gradients' norms
  Tensors input_patterns_, gradient_patterns_;  // the sources of fresh tensors
  std::vector<std::string> field_names_;
  std::vector<Tensor> fields_;
  MicroBatch batch_;
};

}  // namespace penstock
