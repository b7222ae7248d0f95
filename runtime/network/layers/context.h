// runtime/network/layers/context.h -- Pass, MicroBatch, Context: all that a forward is told besides
// its inputs. Each is set once: by the caller that starts a pass, by the executor for each
// micro-batch, by the stage for each of its layers.
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

// One pass of all micro-batches through the network: a training step, an evaluation, a round of
// words.
struct Pass {
  bool training = true;  // dropout on, norms use the micro-batch
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first_micro_batch = 0;   // global index of this replica's micro-batch 0
  float loss_scale = 1.0F;         // 1 / targets of the whole mini-batch
  Replicas* replicas = nullptr;    // that norms share their statistics with; null: with none
  LayerObserver* probe = nullptr;  // sees all that layers make; null: nobody does
  // Called with the logits [..., classes] of every micro-batch, by its index in this replica,
  // before the loss reads them (it does not change them then); only where nothing is trained. They
  // may be kept. Null: nobody asks.
  const std::function<void(int micro_batch, const Tensor& logits)>* logits = nullptr;
};

// One micro-batch of a pass, as all stages see it.
struct MicroBatch {
  Pass pass;
  int index = 0;                                          // in this replica
  const std::vector<std::string>* field_names = nullptr;  // of what layers read of the batch
  const std::vector<Tensor>* fields = nullptr;
  const Decoding* decoding = nullptr;  // words are being chosen: see past.h

  [[nodiscard]] int64_t global_index() const { return pass.first_micro_batch + index; }
};

// All that a layer's forward is given besides its inputs.
struct Context {
  const MicroBatch& batch;
  Tape& tape;
  const ParameterSet& owned;  // by the layers of this stage
  DType dtype = DType::F32;   // of activations
  bool recomputing = false;   // the same forward a second time: count nothing twice
  float loss_scale = 1.0F;    // the pass's, or a part of it inside an auxiliary head
  Tensor* loss = nullptr;     // a loss layer leaves its F64 [3] here (cross_entropy_forward)
  Tensors* auxiliary_losses = nullptr;  // an AuxiliaryLoss adds its own here; null: nobody asks

  [[nodiscard]] Device& device() const { return tape.device(); }
  [[nodiscard]] bool training() const { return batch.pass.training; }
  // The parameter that the layer declared with that slot.
  [[nodiscard]] Parameter& parameter(const Slot& slot) const { return owned.parameter(slot); }
  // Null where the layer declared nothing with it: a bias that is switched off.
  [[nodiscard]] Parameter* parameter_if(const Slot& slot) const { return owned.parameter_if(slot); }
  // Whether the inputs are one position of each row, and the layer knows its past.
  [[nodiscard]] bool one_position() const {
    return batch.decoding != nullptr && batch.decoding->one_position;
  }
  // Throws Error(Internal) when the loader was not asked for the field: see Layer::reads().
  [[nodiscard]] const Tensor& field(const std::string& name) const;
  // The random numbers of one use in this micro-batch; the hash is of the user's full name.
  [[nodiscard]] RandomStream random(uint64_t name_hash) const {
    return random_stream(batch.pass.seed, name_hash, static_cast<uint64_t>(batch.pass.step),
                         static_cast<uint64_t>(batch.global_index()));
  }
  // The same for all micro-batches of the step: for random numbers by sample.
  [[nodiscard]] RandomStream random_of_step(uint64_t name_hash) const {
    return random_stream(batch.pass.seed, name_hash, static_cast<uint64_t>(batch.pass.step));
  }
};

// The end of a step, after the replicas' sums were added up.
struct StepEnd {
  Device& device;
  const ParameterSet& owned;
  int replicas = 1;
};

}  // namespace penstock
