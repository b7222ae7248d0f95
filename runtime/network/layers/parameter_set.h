// runtime/network/layers/parameter_set.h -- ParameterSet: the parameters, buffers, step sums and
// constants that the layers of a stage own. Layers declare them, the stage gives them memory, and
// layers find each by the slot they declared it with.
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

// A tensor of a layer that no gradient trains, fp32: a moving average.
struct Buffer {
  std::string name;  // "blocks.2.norm.running_mean"
  Shape shape;
  float initial = 0.0F;
  Tensor value;  // empty until the stage allocates it
};

// Sums that a layer gathers during one step: set to zero before it, added to by the micro-batches
// in ascending order, summed over all replicas, then read in Layer::end_step(). fp32.
struct StepSums {
  Shape shape;
  Tensor value;       // empty until the stage allocates it
  double rows = 0.0;  // rows that `value` sums, of this replica in this step
  // The statistics over all replicas that normalised a micro-batch, for its recompute.
  struct Remembered {
    int64_t micro_batch;  // global index
    BatchStatistics statistics;
  };
  std::vector<Remembered> remembered;
};

// All that layers have declared, each kind in the order of declaration. Addresses stay valid.
struct Declared {
  std::deque<Parameter> parameters;
  std::deque<Buffer> buffers;
  std::deque<StepSums> step_sums;
  std::deque<Tensor> constants;
  // The number of elements of parameters[from], parameters[from + 1] ...; a parameter that several
  // layers hold counts at its first holder in the set. Throws Error(Input) for more than
  // kMostElements.
  [[nodiscard]] int64_t elements(size_t from = 0) const;
};

class ParameterSet {
 public:
  // Declares a parameter. Throws Error(Input) when the name is taken. Weight decay spares kinds
  // Bias and Norm.
  Parameter& add(const Slot& slot, const std::string& name, const Shape& shape,
                 const Initializer& init, ParameterKind kind = ParameterKind::Matrix);
  // Declares a parameter that other layers hold too, in this set or another, under the same name,
  // shape and initialiser. Throws Error(Input) when an earlier holder's shape differs.
  Parameter& share(const Slot& slot, const std::string& name, const Shape& shape,
                   const Initializer& init, ParameterKind kind = ParameterKind::Matrix);
  // Declares a buffer, every element `initial` at first. Throws Error(Input) when the name is
  // taken.
  void add_buffer(const Slot& slot, const std::string& name, const Shape& shape, float initial);
  // Declares sums of a step.
  void add_step_sums(const Slot& slot, const Shape& shape);
  // Declares a constant: a tensor that the layer makes at its first forward and finds again later.
  // Layers of this set that give the same `shared_as` share one, so the text must name all that the
  // tensor depends on; empty: not shared.
  void add_constant(const Slot& slot, const std::string& shared_as = {});

  // The object declared with that slot. Where there is none, parameter_if() returns null and the
  // others throw Error(Internal).
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
