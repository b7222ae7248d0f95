// runtime/network/layers/parameter_set.h -- ParameterSet: the list of all parameters, buffers, step
// sums and constants that the layers of one stage own, with the tensors that hold their values.
//
// Three parties use it, in this order: each layer declares what it owns under its slots (slot.h) in
// Layer::declare(); the stage gives what was declared memory; then each layer finds its tensors by
// the same slots in every forward.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/network/autograd/functions.h"
#include "runtime/network/autograd/parameter.h"
#include "runtime/network/layers/slot.h"

namespace penstock {

// A tensor of a layer that training changes without a gradient, fp32: a batch norm's moving
// average.
struct Buffer {
  std::string name;  // "blocks.2.norm.running_mean"
  Shape shape;
  float initial = 0.0F;
  Tensor value;  // empty until the stage allocates it
};

// Sums over a mini-batch that a layer gathers during one step, fp32: a batch norm's sums of x and
// x^2, how many rows each expert of a mixture had. The stage sets them to zero before the step, the
// forwards of the micro-batches add to them in ascending order, the pipeline sums them over all
// replicas, and Layer::end_step() reads them.
struct StepSums {
  std::string name;  // "blocks.2.experts.rows"
  Shape shape;
  Tensor value;       // empty until the stage allocates it
  double rows = 0.0;  // how many rows of x are in `value`, of this replica alone
  // The statistics by which a batch norm over all replicas normalised a micro-batch in its first
  // forward, kept until its recompute, which must use the same ones.
  struct Remembered {
    int64_t micro_batch;  // global index
    BatchStatistics statistics;
  };
  std::vector<Remembered> remembered;
};

// All that layers have declared, each kind in the order of declaration. Addresses of elements stay
// valid as long as the set lives.
struct Declared {
  std::deque<Parameter> parameters;
  std::deque<Buffer> buffers;
  std::deque<StepSums> step_sums;
  std::deque<Tensor> constants;
  // The number of elements of parameters[from] and all behind it. A parameter that several layers
  // hold counts once, where the first of these layers declared it. Throws Error(Input) for more
  // than kMostElements (2^50).
  [[nodiscard]] int64_t elements(size_t from = 0) const;
};

class ParameterSet {
 public:
  // Declares a parameter of this layer alone. Throws Error(Input) when the name is taken.
  Parameter& add(const Slot& slot, const std::string& name, const Shape& shape,
                 const Initializer& init, ParameterKind kind = ParameterKind::Matrix);
  // Declares a tied parameter: one that other layers, of this stage or others, declare by share()
  // too, with the same name, shape and initial values. Each call adds a Parameter of its own to
  // declared(), which it returns; where a layer of this set has declared the name before,
  // Parameter::first of the new one points at that layer's. Throws Error(Input) when the earlier
  // one has another shape, and when the name is taken by a parameter that is not tied or by a
  // buffer.
  Parameter& share(const Slot& slot, const std::string& name, const Shape& shape,
                   const Initializer& init, ParameterKind kind = ParameterKind::Matrix);
  // Declares a buffer, every element `initial` at first. Throws Error(Input) when the name is
  // taken.
  void add_buffer(const Slot& slot, const std::string& name, const Shape& shape, float initial);
  // Declares sums of a step. Nothing is kept of them after it; the name, which need not differ from
  // other names, is for those who tell of them.
  void add_step_sums(const Slot& slot, const std::string& name, const Shape& shape);
  // Declares a constant, such as a table of cosines: a tensor that the layer makes at its first
  // forward and finds again in later ones. Layers of this set that give the same `shared_as` share
  // one tensor, so that text must name all that the tensor depends on; empty: not shared.
  void add_constant(const Slot& slot, const std::string& shared_as = {});

  // The object that was declared with that slot. Where there is none, parameter_if() returns null
  // and the others throw Undeclared. A constant is an empty tensor until its layer makes it.
  [[nodiscard]] Parameter* parameter_if(const Slot& slot) const { return by_slot_.find(slot); }
  [[nodiscard]] Parameter& parameter(const Slot& slot) const { return found(by_slot_, slot); }
  [[nodiscard]] Buffer& buffer(const Slot& slot) const { return found(buffer_by_slot_, slot); }
  [[nodiscard]] StepSums& step_sums(const Slot& slot) const { return found(sums_by_slot_, slot); }
  [[nodiscard]] Tensor& constant(const Slot& slot) const { return found(constant_by_slot_, slot); }

  [[nodiscard]] Declared& declared() { return declared_; }
  [[nodiscard]] const Declared& declared() const { return declared_; }

 private:
  void claim(const std::string& name);
  [[noreturn]] static void undeclared();
  template <class T>
  static T& found(const SlotTable<T>& table, const Slot& slot) {
    T* value = table.find(slot);
    if (value == nullptr) undeclared();
    return *value;
  }

  std::unordered_set<std::string> names_;
  Declared declared_;
  SlotTable<Parameter> by_slot_;
  SlotTable<Buffer> buffer_by_slot_;
  SlotTable<StepSums> sums_by_slot_;
  SlotTable<Tensor> constant_by_slot_;
  std::unordered_map<std::string, Tensor*> shared_constants_;
};

}  // namespace penstock
