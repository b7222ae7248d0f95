// runtime/planning/costs/layer_probe.h -- LayerProbe: one layer alone on a device, run through
// every verb of a stage (forward, backward, backward_input, backward_weight, update); memory comes
// from the device's accounts, time from a meter. layer_costs.h runs one for each layer.
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

// What a meter shows: seconds and FLOPs spent so far, or between two readings.
struct Reading {
  double seconds = 0, flops = 0;
};
using Meter = std::function<Reading()>;

// One run of every verb.
struct ProbeTimes {
  Reading forward, backward, backward_input, backward_weight;
  double update_s = 0;  // gradients cleared, their norm, the optimizer, averages
  // The time by which forward and backward take longer right after an update, when the weights'
  // copies in the library's layouts are made anew. Noise may make it negative.
  double copies_s = 0;
};

// The bytes that stay in use between two verbs. Tensors that enter or leave the layer are listed by
// themselves: a neighbour may keep them too, and they must be counted once.
struct Kept {
  int64_t own = 0;                       // of all other tensors
  std::vector<int64_t> inputs, outputs;  // bytes of each tensor of the tuple; 0: not kept
};

struct ProbeMemory {
  Kept tape;  // from forward to backward
  Kept half;  // from backward_input to backward_weight
  // The input that each output is a view of, or -1.
  std::vector<int> view_of;
  // The most bytes in use at once: in a forward without a tape and in one that records a tape,
  // beyond what is in use before the inputs are made; in backward and backward_input, beyond the
  // tape.
  int64_t forward_peak = 0, record_peak = 0, backward_peak = 0, backward_input_peak = 0;
  int64_t parameters = 0, gradients = 0, optimizer = 0;  // bytes for the whole run
  int64_t workspace = 0;  // bytes of the weights' copies in other layouts or types
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

  // Measures the memory. Called first: it warms up, as it runs forward and backward in all their
  // forms.
  [[nodiscard]] ProbeMemory memory();
  // Measures the times. Before each verb calls `chill` (may be empty), which empties the caches,
  // outside the meter.
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
  std::unique_ptr<WeightAverage> average_;  // null: none
  Tensor squares_;                          // sums of squares of the gradients, as updates compute
  Tensors input_patterns_, gradient_patterns_;  // the sources of fresh tensors
  std::vector<std::string> field_names_;
  std::vector<Tensor> fields_;
  MicroBatch batch_;
};

}  // namespace penstock
