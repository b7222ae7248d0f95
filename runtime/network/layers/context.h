// runtime/network/layers/context.h -- what a layer's forward is told besides its inputs: which
// micro-batch of which step it computes, the tape, and the parameters that its stage holds for it.
//
// Three structs, from the outside in: a Pass is the same for all micro-batches (the training loop
// fills it in), a MicroBatch is one of these (the executor of the schedule fills it in), and a
// Context is that micro-batch in one stage (Stage fills it in and hands it to Layer::forward()).
// Words like stage, replica and recompute: docs/concepts.md.
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
  bool training = true;  // dropout is on, and batch norms use the micro-batch's statistics
  uint64_t seed = 0;     // of the run
  int64_t step = 0;      // number of the step in the run; random numbers depend on it
  // The index of this replica's micro-batch 0 among the micro-batches of all replicas: replica r of
  // M micro-batches each begins at r * M.
  int64_t first_micro_batch = 0;
  int64_t micro_batches = 1;  // of all replicas together, in a step
  // Losses are multiplied by it: 1 / targets of the whole mini-batch. Set where the loss is alone.
  float loss_scale = 1.0F;
  Replicas* replicas = nullptr;    // batch norms share statistics over these; null: with nobody
  LayerObserver* probe = nullptr;  // is shown all outputs and gradients; null: nothing is shown
  // Called in a pass that does not train, by the stage with the loss, for each micro-batch: with
  // its index in this replica and its logits [..., classes], before the loss reads them. The callee
  // may keep the tensor: the loss does not change it. Null: nothing is called.
  const std::function<void(int micro_batch, const Tensor& logits)>* logits = nullptr;
};

// One micro-batch of a pass.
struct MicroBatch {
  Pass pass;
  int index = 0;  // in this replica, 0 .. M - 1
  // The fields of the data ("tokens", "labels") that layers of this rank read, and their names, in
  // the same order.
  const std::vector<std::string>* field_names = nullptr;
  const std::vector<Tensor>* fields = nullptr;
  const Decoding* decoding = nullptr;  // in a round of generating tokens (past.h); else null

  // The index among the micro-batches of all replicas.
  [[nodiscard]] int64_t global_index() const { return pass.first_micro_batch + index; }
};

// All that a layer's forward is given besides its inputs.
struct Context {
  const MicroBatch& batch;
  Tape& tape;
  const ParameterSet& owned;  // the parameters and buffers that the layers of this stage declared
  DType dtype = DType::F32;   // of activations: F32 or BF16
  // True: this forward is a recompute, the second one of this micro-batch. What a forward adds up
  // over the step (sums of batch norms) must not be added again.
  bool recomputing = false;
  // True: this forward leaves no tape, and a recompute of the same micro-batch will leave one.
  bool recompute_follows = false;
  float loss_scale = 1.0F;  // Pass::loss_scale; inside an auxiliary head, that times its weight
  // Where a loss layer puts its result, F64 [3]: the sum of losses, targets guessed right, targets.
  Tensor* loss = nullptr;
  // Each AuxiliaryLoss appends such a result; null: they are not wanted.
  Tensors* auxiliary_losses = nullptr;

  [[nodiscard]] Device& device() const { return tape.device(); }
  [[nodiscard]] bool training() const { return batch.pass.training; }
  // The parameter that the layer declared with that slot.
  [[nodiscard]] Parameter& parameter(const Slot& slot) const { return owned.parameter(slot); }
  // The same; null where the layer declared none with that slot: a bias that is switched off.
  [[nodiscard]] Parameter* parameter_if(const Slot& slot) const { return owned.parameter_if(slot); }
  // Whether tokens are generated and the inputs are one position of each row only: the keys and
  // values of earlier positions are in Decoding::past.
  [[nodiscard]] bool one_position() const {
    return batch.decoding != nullptr && batch.decoding->one_position;
  }
  // The batch field of that name. Throws Undeclared where Layer::reads() did not name it.
  [[nodiscard]] const Tensor& field(const std::string& name) const;
  // The random numbers of one layer for this micro-batch of this step: the same in a recompute, and
  // wherever the layer is. `name_hash` is hash_name() of the layer's or adapter's full name.
  [[nodiscard]] RandomStream random(uint64_t name_hash) const {
    return random_stream(batch.pass.seed, name_hash, static_cast<uint64_t>(batch.pass.step),
                         static_cast<uint64_t>(batch.global_index()));
  }
  // The same, but one stream for all micro-batches of the step: for layers that need a number for
  // each sample of the mini-batch, whichever micro-batch the sample is in (DropPath).
  [[nodiscard]] RandomStream random_of_step(uint64_t name_hash) const {
    return random_stream(batch.pass.seed, name_hash, static_cast<uint64_t>(batch.pass.step));
  }
};

// The arguments of Layer::end_step(). `owned` is as in Context; its step sums have been added up
// over the micro-batches of all `replicas` replicas.
struct StepEnd {
  Device& device;
  const ParameterSet& owned;
  int replicas = 1;
};

}  // namespace penstock
