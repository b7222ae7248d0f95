// runtime/network/optimizer/optimizer.h -- Optimizer: SGD, Adam, Muon and others, which once per
// step change the weights that this rank holds by their gradients.
//
// It works on a list of entries of state tables (runtime/network/stage/state_table.h), one entry
// for each parameter with its value, its gradient and the optimizer's tensors, such as Adam's
// moments. It knows no ranks: gradients arrive already summed over micro-batches and replicas, and
// clipping arrives as a factor. Order: make_optimizer(), allocate() once, step() once per training
// step. The arithmetic is in kernels/ops/update.h; the rate of a step in rate.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/network/autograd/parameter.h"
#include "runtime/network/optimizer/config.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

// True when weight decay leaves a parameter alone: it is a bias or a norm and decay_all is not set,
// or its name contains a text of no_decay that ends, apart from digits, where a dot-separated part
// of the name ends. So "norm" spares blocks.0.norm1.weight and attention_norm.weight but not
// normal.weight; "embedding.position" spares embedding.position.weight.
[[nodiscard]] bool is_spared_decay(const StateEntry& entry, const OptimizerConfig& config);

// Returns "", or a note that names the texts of no_decay which spare none of the parameters: a
// misspelt one would leave its parameters decayed.
[[nodiscard]] std::string decay_note(const OptimizerConfig& config,
                                     std::span<const std::string> parameters);

// True when the update of each element of a parameter depends on all its elements, so that one
// replica must update all of it: a matrix of muon, any parameter of adafactor. The answer is the
// same for all layers that hold the parameter.
[[nodiscard]] bool is_updated_whole(const Parameter& parameter, const OptimizerConfig& config);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Called once, when weights and gradients exist. Gives each trained parameter its state tensors
  // (StateEntry::states, Purpose::Optimizer, with their initial values) and sets
  // StateEntry::decayed and updated_whole. Where replicas share the updates out (StateEntry::cuts),
  // the states have only the elements that this replica updates. Entries and device must outlive
  // this object.
  void allocate(StateRange range, Device& device);

  // Updates the weights and states of every trained parameter, or this replica's elements of them,
  // from its gradient times gradient_scale (1, or less where the gradient is clipped). Every rule
  // treats each element by itself, but those of entries that are `updated_whole`. Allocates no
  // tensors.
  void step(double learning_rate, double gradient_scale);

  // Applies the last step() once more to a copy of some elements of one parameter, for an audit
  // (update_audit.h): `copy` must have the value and states that these elements had before that
  // step and their gradient, all 1-d tensors of one size; of an entry that is `updated_whole` all
  // elements, in its shape. steps() does not change.
  void repeat(StateEntry& copy, double learning_rate, double gradient_scale);

  // Steps taken so far, those before a resume included, on which Adam's bias correction depends.
  // set_steps() is called when a run is resumed from a checkpoint.
  [[nodiscard]] int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  // A state tensor that the rule needs for each parameter (Adam has two): its name as PyTorch calls
  // it, such as "exp_avg", the value of all its elements before step 1, and whether it has one for
  // each element of the parameter or, of a matrix that is updated as a whole, for each row or
  // column.
  enum class Extent : uint8_t { Elements, Rows, Columns };
  struct Slot {
    std::string name;
    float first = 0.0F;
    Extent extent = Extent::Elements;
  };
  using Slots = std::vector<Slot>;
  Optimizer(const OptimizerConfig& config, Slots slots);

  [[nodiscard]] const OptimizerConfig& config() const { return config_; }
  // The shape [rows] or [columns] of a state that has a number for each row or column of the entry;
  // a shape without axes where the state has the shape of the entry's value (Extent::Elements).
  [[nodiscard]] static Shape own_shape_of(const Slot& slot, const StateEntry& entry);
  // What the entry has: by default all the slots of the constructor.
  [[nodiscard]] virtual const Slots& slots_of(const StateEntry& /*entry*/) const { return slots_; }
  // Called at the end of allocate() with the entries that are updated here: makes what updates need
  // beside the states (Purpose::Workspace), as much as the largest parameter wants.
  virtual void allocate_scratch(StateRange /*entries*/, Device& /*device*/) {}
  // State tensor number `slot` of the entry, in the order of Slots; empty where it has fewer.
  [[nodiscard]] static Tensor state_of(const StateEntry& entry, size_t slot) {
    return slot < entry.states.size() ? entry.states[slot].tensor : Tensor();
  }
  // The entry's weight decay; 0 where it is spared.
  [[nodiscard]] float decay_of(const StateEntry& entry) const {
    return entry.decayed ? static_cast<float>(config_.weight_decay) : 0.0F;
  }
  // The rule of a derived class: updates all the entries, on `device`. `scale` multiplies their
  // gradients.
  virtual void update(Device& device, StateRange entries, float learning_rate, float scale) = 0;

 private:
  OptimizerConfig config_;
  Slots slots_;
  std::vector<StateEntry*> entries_;  // trained parameters with elements to update here
  Device* device_ = nullptr;
  int64_t steps_ = 0;
};

// The optimizer of config.kind. Throws Error(Input) where validate() (validate.h) refuses the
// section.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

}  // namespace penstock
