// runtime/network/optimizer/optimizer.h -- Optimizer: updates the parameters in a range of state
// tables.
//
// The optimizer knows no ranks: gradients arrive summed, and clipping arrives as a factor. The
// arithmetic is in kernels/ops/update.h; the rate of a step in runtime/network/optimizer/rate.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/network/autograd/parameter.h"
#include "runtime/network/optimizer/config.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

// True when weight decay leaves a parameter alone: a bias or a norm, unless decay_all is set; or
// some part of no_decay occurs in its name so that only digits stand between it and the end of a
// dot-separated component: "norm" spares blocks.0.norm1.weight and attention_norm.weight but not
// normal.weight; "embedding.position" spares embedding.position.weight.
[[nodiscard]] bool is_spared_decay(const StateEntry& entry, const OptimizerConfig& config);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Gives each trained parameter its states (Purpose::Optimizer, at their first values), for this
  // replica's elements alone where replicas share the updates (StateEntry::cuts), and notes in the
  // entry whether it is decayed. Called once, when weights and gradients exist. Entries and device
  // must outlive this object.
  void allocate(StateRange range, Device& device);

  // Updates every parameter, or this replica's elements of it, in the given order from its gradient
  // times gradient_scale. Every rule treats each element by itself.
  // Allocates no tensors.
  void step(double learning_rate, double gradient_scale);

  // Applies the last step() once more, to `copy`: its value and states must be those from before
  // that step, and value, states and gradient 1-d tensors over the same elements of one parameter.
  void repeat(StateEntry& copy, double learning_rate, double gradient_scale);

  // Steps taken so far, over all runs: Adam's bias correction depends on it.
  [[nodiscard]] int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }  // on resuming

 protected:
  // A state tensor that each parameter needs, and the value of all its elements before step 1.
  struct Slot {
    std::string name;
    float first = 0.0F;
  };
  using Slots = std::vector<Slot>;
  Optimizer(const OptimizerConfig& config, Slots slots);

  [[nodiscard]] const OptimizerConfig& config() const { return config_; }
  // The state tensor in that slot of the entry; empty where there is no such slot.
  [[nodiscard]] static Tensor state_of(const StateEntry& entry, size_t slot) {
    return slot < entry.states.size() ? entry.states[slot].tensor : Tensor();
  }
  // The entry's weight decay; 0 where it is spared.
  [[nodiscard]] float decay_of(const StateEntry& entry) const {
    return entry.decayed ? static_cast<float>(config_.weight_decay) : 0.0F;
  }
  // Updates all the entries with one op. `scale` multiplies their gradients.
  virtual void update(UpdateOps& ops, StateRange entries, float learning_rate, float scale) = 0;

 private:
  OptimizerConfig config_;
  Slots slots_;
  std::vector<StateEntry*> entries_;  // trained parameters with elements to update here
  Device* device_ = nullptr;
  int64_t steps_ = 0;
};

// The optimizer of config.kind. Throws Error(Input) for a section that validate()
// (runtime/network/optimizer/validate.h) refuses.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

}  // namespace penstock
