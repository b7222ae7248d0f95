// tests/unit/network/optimizer/given_training.h -- GivenTraining: parameters of given names and
// shapes with an optimizer, stepped by made-up gradients.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/network/optimizer/optimizer.h"
#include "tests/unit/network/numbers.h"
#include "tests/unit/network/optimizer/update_device.h"

namespace penstock {

struct GivenParameter {
  const char* name;
  Shape shape;
  ParameterKind kind = ParameterKind::Matrix;
};

// What multiplies every gradient, as if it were clipped.
inline constexpr double kClipped = 0.5;

class GivenTraining {
 public:
  // `prepare` is called for each entry before the optimizer's state is made.
  GivenTraining(
      const OptimizerConfig& config, std::span<const GivenParameter> given,
      const std::function<void(StateEntry&)>& prepare = [](StateEntry&) {})
      : optimizer_(make_optimizer(config)), slots_(given.size()) {
    for (size_t p = 0; p < given.size(); ++p) {
      set_.add(slots_[p], given[p].name, given[p].shape, {}, given[p].kind);
    }
    for (Parameter& parameter : set_.declared().parameters) {
      parameter.weight = Weight(device_.empty(parameter.shape, DType::F32, Purpose::Parameters));
      parameter.gradient = device_.empty(parameter.shape, DType::F32, Purpose::Gradients);
      for (int64_t i = 0; i < parameter.elements(); ++i) {
        parameter.weight.value().data<float>()[i] = start_at(i);
      }
    }
    table_.emplace(set_);
    table_->bind();
    for (StateEntry* entry : entries()) prepare(*entry);
    optimizer_->allocate(table_->entries(), device_);
  }
  static float start_at(int64_t i) { return static_cast<float>(i % 13 - 6) * 0.1F; }
  static float gradient_at(int step, int64_t i) {
    return static_cast<float>(std::sin(1.3 * step + 0.7 * static_cast<double>(i * i % 101)));
  }
  void step(int number, double rate) {
    for (StateEntry* entry : entries()) {
      for (int64_t i = 0; i < entry->elements(); ++i) {
        entry->gradient.data<float>()[i] = gradient_at(number, i);
      }
    }
    optimizer_->step(rate, kClipped);
  }
  StateRange entries() { return table_->entries(); }
  UpdateDevice& device() { return device_; }
  Optimizer& optimizer() { return *optimizer_; }

 private:
  UpdateDevice device_;
  ParameterSet set_;
  std::optional<StateTable> table_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Slot> slots_;
};

}  // namespace penstock
