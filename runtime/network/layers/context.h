// runtime/network/layers/context.h -- Pass, MicroBatch, Context: all that a layer's forward is told
// besides its inputs. The caller that starts a pass sets the Pass, the executor each MicroBatch,
// the stage the Context of its layers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/network/autograd/replicas.h"
#include "runtime/network/autograd/tape.h"
#include "runtime/network/layers/parameter_set.h"
#include "runtime/network/layers/past.h"

namespace penstock {

class LayerObserver;

// One pass of all micro-batches through the network: a training step, an evaluation, or one round
// of generating tokens.
struct Pass {
  bool training = true;  // dropout on, batch norms use the micro-batch's statistics
  uint64_t seed = 0;
  int64_t step = 0;                // of the run; random numbers depend on it
  int64_t first_micro_batch = 0;   // global index of this replica's micro-batch 0
  float loss_scale = 1.0F;         // 1 / targets of the whole mini-batch
  Replicas* replicas = nullptr;    // with which batch norms share statistics; null: with none
  LayerObserver* probe = nullptr;  // is shown all outputs and gradients; null: nobody is
  // Called, in a pass that does not train, with each micro-batch's index in this replica and its
  // logits [..., classes], before the loss reads them. The callee may keep the tensor: the loss
  // does not change it. Null: nobody asks.
  const std::function<void(int micro_batch, const Tensor& logits)>* logits = nullptr;
};

// One micro-batch of a pass, as all stages see it.
struct MicroBatch {
  Pass pass;
  int index = 0;                                          // in this replica
  const std::vector<std::string>* field_names = nullptr;  // one for each of `fields`
  const std::vector<Tensor>* fields = nullptr;            // those of the batch that layers read
  const Decoding* decoding = nullptr;  // how tokens are generated; null: they are not

  [[nodiscard]] int64_t global_index() const { return pass.first_micro_batch + index; }
};

// All that a layer's forward is given besides its inputs.
struct Context {
  const MicroBatch& batch;
  Tape& tape;
  const ParameterSet& owned;  // what the layers of this stage own
  DType dtype = DType::F32;   // of activations
  bool recomputing = false;   // the same forward a second time: count nothing twice
  float loss_scale = 1.0F;    // the pass's; inside an auxiliary head, that times its weight
  Tensor* loss = nullptr;     // a loss layer's F64 [3]: sum of losses, hits, targets
  Tensors* auxiliary_losses = nullptr;  // each AuxiliaryLoss appends its own; null: nobody asks

  [[nodiscard]] Device& device() const { return tape.device(); }
  [[nodiscard]] bool training() const { return batch.pass.training; }
  // The parameter that the layer declared with that slot.
  [[nodiscard]] Parameter& parameter(const Slot& slot) const { return owned.parameter(slot); }
  // The parameter of that slot; null where the layer declared none: a bias that is switched off.
  [[nodiscard]] Parameter* parameter_if(const Slot& slot) const { return owned.parameter_if(slot); }
  // Whether the inputs are one position of each row, whose earlier positions are in Decoding::past.
  [[nodiscard]] bool one_position() const {
    return batch.decoding != nullptr && batch.decoding->one_position;
  }
  // The batch field of that name. Throws Error(Internal) where Layer::reads() did not name it.
  [[nodiscard]] const Tensor& field(const std::string& name) const;
  // The random numbers of this micro-batch for whoever has that name: `name_hash` is the hash of a
  // layer's or an adapter's full name.
  [[nodiscard]] RandomStream random(uint64_t name_hash) const {
    return random_stream(batch.pass.seed, name_hash, static_cast<uint64_t>(batch.pass.step),
                         static_cast<uint64_t>(batch.global_index()));
  }
  // The random numbers of that name that all micro-batches of the step share, for numbers by
  // sample.
  [[nodiscard]] RandomStream random_of_step(uint64_t name_hash) const {
    return random_stream(batch.pass.seed, name_hash, static_cast<uint64_t>(batch.pass.step));
  }
};

// The arguments of Layer::end_step(): the step sums in `owned` have been added up over `replicas`.
struct StepEnd {
  Device& device;
  const ParameterSet& owned;
  int replicas = 1;
};

}  // namespace penstock
