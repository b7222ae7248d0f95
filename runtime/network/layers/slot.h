// runtime/network/layers/slot.h -- Slot: the key under which a stage keeps one parameter, buffer or
// constant of a layer, and under which the layer finds it.
//
// A layer object holds no tensors, since several stages (the planner's and the pipeline's) may hold
// memory for the same layer at once. So a layer has a member of type Slot for each thing that it
// owns:
//   Slot weight_;
//   declare(set):      set.add(weight_, name() + ".weight", shape, init);
//   forward(context):  context.parameter(weight_)
// Each Slot gets the next free number of the process; results do not depend on these numbers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace penstock {

class Slot {
 public:
  Slot() : number_(next_.fetch_add(1, std::memory_order_relaxed)) {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  [[nodiscard]] size_t number() const { return number_; }

 private:
  static inline std::atomic<size_t> next_ = 0;
  size_t number_;
};

// A stage's table from slots to objects, which it does not own. A look-up indexes an array that
// spans the numbers in use: the slots of a network are made together, so their numbers lie close
// together.
template <class T>
class SlotTable {
 public:
  void put(const Slot& slot, T* value) {
    const size_t number = slot.number();
    if (values_.empty()) first_ = number;
    if (number < first_) {
      values_.insert(values_.begin(), first_ - number, nullptr);
      first_ = number;
    }
    values_.resize(std::max(values_.size(), number - first_ + 1), nullptr);
    values_[number - first_] = value;
  }
  // Null where nothing was put.
  [[nodiscard]] T* find(const Slot& slot) const {
    const size_t at = slot.number() - first_;  // wraps around below the first
    return at < values_.size() ? values_[at] : nullptr;
  }

 private:
  size_t first_ = 0;
  std::vector<T*> values_;
};

}  // namespace penstock
