// runtime/network/stage/state_table.h -- StateTable: the list of everything that a stage keeps from
// step to step, with one entry for each parameter and each buffer.
//
// An entry brings together a parameter's weight, its gradient, the optimizer's tensors for it and
// its moving average. The optimizer, the averages, the gradient norm and checkpoints go over the
// table and choose entries by their fields. Entries stand in a fixed order, so that a range of
// entries is a part of the table, and every rank goes over them in the same order.
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

// A tensor that the optimizer keeps for a parameter, such as Adam's first moment.
struct StateSlot {
  std::string name;  // as PyTorch calls it: exp_avg, exp_avg_sq, momentum_buffer, square_avg
  Tensor tensor;     // fp32, of the value's shape; where replicas share updates, [own_elements()]
  // Shape{}, without axes: `tensor` is as above. Otherwise the state has this shape, not the
  // value's, and `tensor` is all of it or, where another replica updates the whole value, [0].
  Shape own_shape = {};
};

// One parameter or one buffer of a stage.
struct StateEntry {
  std::string name;  // "blocks.0.linear.weight"
  StateKind kind = StateKind::Matrix;
  // The index in the list of all tensors of the network (Layout::named in
  // runtime/planning/blueprint/layout.h), once the pipeline has set it.
  size_t place = 0;
  // The Parameter objects of the layers of this stage that hold this parameter: one, or several
  // where layers share it (tied weights). Empty for a buffer.
  std::vector<Parameter*> holders;
  Buffer* buffer = nullptr;  // of a buffer; null for a parameter

  // References to the live tensors, not copies; empty until StateTable::bind(). A frozen weight may
  // be bf16 (Parameter::kept_type()), all else is fp32.
  Tensor value;     // the weight, or the buffer's value
  Tensor gradient;  // of the first of `holders`; empty for buffers and frozen parameters
  // Optimizer::allocate() makes them for trained parameters.
  boost::container::small_vector<StateSlot, 2> states;
  Tensor average;  // the moving average; WeightAverage::allocate() makes it for trained entries

  // Whether training changes it. False for frozen parameters, and for the statistics of a batch
  // norm whose parameters are all frozen.
  bool trained = true;
  bool decayed = false;  // weight decay applies; Optimizer::allocate() sets it
  // The update of each element depends on all others (is_updated_whole() in optimizer.h), so that
  // one replica updates all of them; Optimizer::allocate() sets it.
  bool updated_whole = false;
  bool tied = false;  // layers of other stages may hold it too
  // False: an earlier stage holds this tied parameter too, and that stage counts it and writes it
  // to files.
  bool owned = true;

  // If replicas share the updates out (docs/sharing.md), replica r updates elements [cuts[r],
  // cuts[r + 1]) of the value, and has states and average for these alone, as 1-d tensors. Empty:
  // every replica updates all elements.
  std::vector<int64_t> cuts;
  int replica = 0;  // the number of this replica

  [[nodiscard]] bool is_parameter() const { return buffer == nullptr; }
  [[nodiscard]] bool is_shared() const { return !cuts.empty(); }
  // The first element that this replica updates, and how many it updates.
  [[nodiscard]] int64_t own_first() const {
    return is_shared() ? cuts[static_cast<size_t>(replica)] : 0;
  }
  [[nodiscard]] int64_t own_elements() const {
    return is_shared() ? cuts[static_cast<size_t>(replica) + 1] - own_first() : elements();
  }
  // The part of `whole` (the value or a gradient, of the value's shape) that this replica updates,
  // as a view: 1-d where replicas share the updates out, else `whole` itself.
  [[nodiscard]] Tensor own_part(const Tensor& whole) const {
    return is_shared() ? whole.view(own_first(), {own_elements()}) : whole;
  }
  [[nodiscard]] int64_t elements() const {
    return is_parameter() ? holders.front()->elements() : buffer->shape.elements();
  }
  // Must be called after the elements of the value were overwritten: kernels keep copies of weights
  // in other layouts (kernels/weight.h), which are then made anew.
  void changed() {
    if (is_parameter()) holders.front()->weight.changed();
  }
};

// Some entries, in order: all those of one stage, or of the several stages of a rank, or a part.
using StateRange = std::span<StateEntry* const>;

// A state or the average of an entry, as a checkpoint has it.
struct KeptBeside {
  std::string name;  // "blocks.0.linear.weight.exp_avg", "blocks.0.linear.weight.average"
  Tensor tensor;     // what this replica has of it
  Shape shape;       // of the whole
  // If replicas share the updates out, replica r has elements [cuts[r], cuts[r + 1]) of the whole;
  // else empty.
  std::vector<int64_t> cuts;
};
[[nodiscard]] std::vector<KeptBeside> kept_beside(const StateEntry& entry);

// The table of one stage: its parameters in layer order, each tied one once, then its buffers. In a
// new table `owned` is true and `place` is the index in this table; Pipeline, which knows the whole
// network, sets both.
class StateTable {
 public:
  // A table of all that layers have declared in `set`, which must outlive it. Parameter::frozen
  // must have been set.
  explicit StateTable(ParameterSet& set);
  StateTable(const StateTable&) = delete;
  StateTable& operator=(const StateTable&) = delete;

  // Fills in StateEntry::value and gradient; called once `set` has memory.
  void bind();
  [[nodiscard]] StateRange entries() const { return order_; }

 private:
  std::deque<StateEntry> entries_;
  std::vector<StateEntry*> order_;
};

}  // namespace penstock
