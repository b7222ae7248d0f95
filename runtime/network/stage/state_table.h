// runtime/network/stage/state_table.h -- everything that a stage keeps from step to step, one entry
// a tensor: for the optimizer, moving averages, the norm of the gradients, and checkpoints. Each of
// them goes over the table and picks entries by what they say.
//
// Entries stand in a fixed order and say how large they are, so a part of them is a range.
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
  Matrix,  // the three kinds of parameters are those of ParameterKind
  Bias,
  Norm,
  Buffer,  // a norm's moving statistics: training changes them, though not by a gradient
};

// A tensor that belongs to an entry besides its value.
struct StateSlot {
  std::string name;  // as PyTorch calls it: exp_avg, exp_avg_sq, momentum_buffer, square_avg;
                     // or average
  Tensor tensor;     // fp32, of the value's shape; where replicas share, StateEntry::own_part()'s
};

struct StateEntry {
  std::string name;  // "blocks.0.linear.weight"
  StateKind kind = StateKind::Matrix;
  size_t place = 0;                 // in Layout::named, which lists the whole network's
  std::vector<Parameter*> holders;  // of a parameter, the layers here that hold it, in layer order
  Buffer* buffer = nullptr;         // of a buffer

  // References to the live tensors, fp32 but for Parameter::kept_type(); empty until the stage has
  // memory.
  Tensor value;
  Tensor gradient;  // of the first holder; empty for buffers and what is frozen
  // Optimizer::allocate() makes these for what has a gradient, ...
  boost::container::small_vector<StateSlot, 2> states;
  Tensor average;  // ... and WeightAverage::allocate() this for all that is trained.

  bool trained = true;   // a training step changes it: a frozen parameter is not, nor are the
                         // statistics of a norm whose parameters are all frozen
  bool decayed = false;  // by weight decay: Optimizer::allocate() says so
  bool tied = false;     // layers of other stages may hold it too
  bool owned = true;     // no earlier stage holds it: this one counts it and writes it to files

  // The cuts where replicas share the updates out: replica r updates elements [cuts[r], cuts[r +
  // 1]), and keeps states and averages of those alone, as 1-d tensors. Empty: everyone updates all
  // of it.
  std::vector<int64_t> cuts;
  int replica = 0;  // this one

  [[nodiscard]] bool is_parameter() const { return buffer == nullptr; }
  [[nodiscard]] bool is_shared() const { return !cuts.empty(); }
  // The first element that is updated here, and how many there are.
  [[nodiscard]] int64_t own_first() const {
    return is_shared() ? cuts[static_cast<size_t>(replica)] : 0;
  }
  [[nodiscard]] int64_t own_elements() const {
    return is_shared() ? cuts[static_cast<size_t>(replica) + 1] - own_first() : elements();
  }
  // The part that this replica updates of the value, of its gradient, or of a holder's gradient.
  [[nodiscard]] Tensor own_part(const Tensor& whole) const {
    return is_shared() ? whole.view(own_first(), {own_elements()}) : whole;
  }
  [[nodiscard]] int64_t elements() const {
    return is_parameter() ? holders.front()->elements() : buffer->shape.elements();
  }
  // Must be called when the elements of the value were overwritten.
  void changed() {
    if (is_parameter()) holders.front()->weight.changed();
  }
};

// Entries in the order of their stages; all of them, or some that one replica is to have.
using StateRange = std::span<StateEntry* const>;

// The states and the average of an entry, by their names in a checkpoint:
// "blocks.0.linear.weight.exp_avg".
[[nodiscard]] std::vector<StateSlot> kept_beside(const StateEntry& entry);

// The table of one stage: its parameters in layer order, a tied one once, then its buffers. A stage
// by itself owns everything; in a network, Pipeline says what it does not, and the places.
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
