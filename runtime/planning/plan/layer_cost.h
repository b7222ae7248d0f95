// runtime/planning/plan/layer_cost.h -- LayerCost: seconds, FLOPs and bytes of one layer of a
// network for one micro-batch; ModelCosts: those of all its layers.
//
// runtime/planning/costs finds them, by counting or by measuring, for one size of micro-batch. From
// them plan() and predict() compute what any cut into stages would take. A profile file (`penstock
// profile`) stores them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The cut of a replica's samples into micro-batches, as far as the layers' costs depend on it.
struct MicroBatches {
  int64_t size = 1;  // samples of a micro-batch
  // Whether a step has several micro-batches. With several, copies of the weights in the layouts
  // that kernels read are made once per step and kept; with a single one they are made in its
  // forward, again in its backward, and not kept (Weight::read_once()).
  bool several = true;
  auto operator<=>(const MicroBatches&) const =
      default;  // NOLINT(modernize-use-nullptr): none here
};

// A field of a data batch that must be copied to a device with memory of its own (a GPU).
struct DataField {
  std::string name;   // such as "labels"
  int64_t bytes = 0;  // of one micro-batch
};

struct LayerCost {
  std::string name, kind;  // the layer's own name in the network, and its class ("linear")
  // How many elements its parameters have; a tied parameter (shared by layers) counts at its first.
  int64_t parameters = 0;

  // Seconds for one micro-batch. The halves of a backward give the gradient of the inputs and those
  // of the weights; backward_s is both at once.
  double forward_s = 0, backward_input_s = 0, backward_weight_s = 0, backward_s = 0;
  double forward_flops = 0;  // for one micro-batch
  double update_s = 0;       // seconds once per step: norm of the gradients, optimizer, clearing

  // Bytes for one micro-batch.
  int64_t input_bytes = 0;   // of all tensors that enter; 0 where they are data
  int64_t output_bytes = 0;  // of all tensors that leave: what is sent if a stage ends here
  // What the layer keeps from forward to backward (its tape), without inputs that the layer before
  // it keeps anyway. The tape of a stage is the sum of tape_bytes over its layers, plus
  // shared_input_bytes of its first layer.
  int64_t tape_bytes = 0;
  // The inputs that the layer keeps and that are counted in the tape_bytes of the layer before it.
  int64_t shared_input_bytes = 0;
  // What is kept from the input half of a backward to its weight half, in place of the tape.
  int64_t weight_half_bytes = 0;
  // The most bytes in use at once during a pass, with inputs and outputs, but without the inputs of
  // the first layer, which are data.
  int64_t forward_peak_bytes = 0;  // of a forward that keeps no tape
  int64_t record_peak_bytes = 0;   // of a forward that keeps its tape, tape_bytes included
  // Of a whole backward and of its input half, beyond the tape; with the gradient that enters.
  int64_t backward_peak_bytes = 0;
  int64_t backward_input_peak_bytes = 0;

  // The next ones follow from a run's options and device, and are not stored in profile files.

  // False where neither this layer nor any before it is trained: then it has no backward and no
  // recompute, and keeps nothing.
  bool differentiated = true;
  // The batch fields that the layer reads; empty where the device can read the host's memory.
  std::vector<DataField> reads;
  // Bytes of the largest weight that one replica updates as a whole (muon's matrices), and of what
  // its update needs meanwhile; 0 where replicas may cut all weights. A rank has the latter once.
  int64_t whole_bytes = 0, update_scratch_bytes = 0;

  // Bytes that stay for the whole run: weights, gradients, the optimizer's state.
  int64_t parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  // Bytes of the weights' copies in other layouts (packed) or smaller types.
  int64_t workspace_bytes = 0;
  // Bytes that a checkpoint has of the layer: its weights and buffers, and the optimizer's state
  // for them. What is tied to an earlier layer is saved there.
  int64_t saved_weight_bytes = 0, saved_state_bytes = 0;
};

// A skip connection: a tensor that goes from one layer directly to a later one, past the layers
// between.
struct LayerSkip {
  int from_layer = 0, to_layer = 0;  // numbers of layers, from 0
  int64_t bytes = 0;                 // of one micro-batch
};

struct ModelCosts {
  std::string device;                 // a description of the device measured, or counted for
  int64_t micro_batch_size = 1;       // samples; the costs are for one such micro-batch
  std::vector<LayerCost> layers;      // in the network's order
  std::vector<LayerSkip> skips = {};  // all skip connections of the network
  // Bytes of a message between ranks, per byte of its tensors: 0.5 where fp32 tensors travel as
  // bf16 (pipeline.wire), else 1.
  double wire_share = 1;
  // Whether the device has memory of its own: what a rank keeps in the host's is not in it then.
  bool own_memory = false;
  // What libraries take for themselves while an op runs, once a rank. No op says how much.
  int64_t library_bytes = 0;
  // Unlike ranks have these costs of the same layers on the other kinds of device (RankDevice,
  // arrangement.h). All above is that of kind 0. Not stored in profile files.
  std::vector<ModelCosts> others = {};

  [[nodiscard]] const ModelCosts& of_kind(int kind) const {
    return kind == 0 ? *this : others.at(static_cast<size_t>(kind) - 1);
  }
};

}  // namespace penstock
