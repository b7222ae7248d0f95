// runtime/network/stage/state_table.h -- StateTable: everything that a stage keeps from step to
// step, one entry for each parameter and buffer. The optimizer, moving averages, the norm of the
// gradients and checkpoints go over the table and pick entries by their fields.
//
// Entries stand in a fixed order, so a part of the table is a range of entries.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "runtime/network/layers/parameter_set.h"

namespace penstock {

enum class StateKind : uint8_t {
  Matrix,  // Matrix, Bias and Norm are the kinds of parameters (ParameterKind)
  Bias,
  Norm,
  Buffer,  // a norm's moving statistics: training changes them, though not by a gradient
};

// A tensor that belongs to an entry besides its value.
struct StateSlot {
  std::string name;  // as PyTorch calls it: exp_avg, exp_avg_sq, momentum_buffer, square_avg;
                     // or average
  Tensor tensor;     // fp32, of the value's shape; where replicas share updates, [own_elements()]
};

struct StateEntry {
  std::string name;  // "blocks.0.linear.weight"
  StateKind kind = StateKind::Matrix;
  size_t place = 0;                 // index in Layout::named, the whole network's tensors
  std::vector<Parameter*> holders;  // of a parameter: one for each layer here that holds it
  Buffer* buffer = nullptr;         // of a buffer; null: a parameter

  // References to the live tensors; empty until the stage has memory. A frozen weight may be bf16
  // (Parameter::kept_type()), all else is fp32.
  Tensor value;
  Tensor gradient;  // of the first holder; empty for buffers and frozen parameters
  // The optimizer's state; Optimizer::allocate() makes it for trained parameters.
  boost::container::small_vector<StateSlot, 2> states;
  Tensor average;  // the moving average; WeightAverage::allocate() makes it for all trained entries

  bool trained = true;   // a training step changes it: not a frozen parameter, nor the
                         // statistics of a norm whose parameters are all frozen
  bool decayed = false;  // weight decay applies; Optimizer::allocate() sets it
  bool tied = false;     // layers of other stages may hold it too
  bool owned = true;     // no earlier stage holds it: this stage counts it and writes it to files

  // The cuts, where replicas share the updates out: replica r updates elements [cuts[r], cuts[r +
  // 1]), and keeps states and averages of those alone, as 1-d tensors. Empty: every replica updates
  // all elements.
  std::vector<int64_t> cuts;
  int replica = 0;  // this one

  [[nodiscard]] bool is_parameter() const { return buffer == nullptr; }
  [[nodiscard]] bool is_shared() const { return !cuts.empty(); }
  // The first element that this replica updates, and how many it updates.
  [[nodiscard]] int64_t own_first() const {
    return is_shared() ? cuts[static_cast<size_t>(replica)] : 0;
  }
  [[nodiscard]] int64_t own_elements() const {
    return is_shared() ? cuts[static_cast<size_t>(replica) + 1] - own_first() : elements();
  }
  // The part that this replica updates of `whole`: the value, its gradient, or a holder's gradient.
  [[nodiscard]] Tensor own_part(const Tensor& whole) const {
    return is_shared() ? whole.view(own_first(), {own_elements()}) : whole;
  }
  [[nodiscard]] int64_t elements() const {
    return is_parameter() ? holders.front()->elements() : buffer->shape.elements();
  }
  // Must be called after the elements of the value were overwritten, so that copies in other
  // layouts are made anew.
  void changed() {
    if (is_parameter()) holders.front()->weight.changed();
  }
};

// Entries of one or several stages, in the order of the stages; all of them or a part.
using StateRange = std::span<StateEntry* const>;

// The states and the average of an entry, with their names in a checkpoint:
// "blocks.0.linear.weight.exp_avg".
[[nodiscard]] std::vector<StateSlot> kept_beside(const StateEntry& entry);

// The table of one stage: its parameters in layer order, a tied one once, then its buffers. A new
// table says `owned` of every entry and place 0; Pipeline, which knows the whole network, sets
// both.
class StateTable {
 public:
  // A table of all that layers have declared, once Parameter::frozen has been set. `set` must
  // outlive it.
  explicit StateTable(ParameterSet& set);
  StateTable(const StateTable&) = delete;
  StateTable& operator=(const StateTable&) = delete;

  // Fills in values and gradients; called once the set has memory.
  void bind();
  [[nodiscard]] StateRange entries() const { return order_; }

 private:
  std::deque<StateEntry> entries_;
  std::vector<StateEntry*> order_;
};

}  // namespace penstock
