#include "runtime/optimizer/optimizer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kernels/error.h"
#include "kernels/ops/pointwise.h"
#include "kernels/ops/update.h"

namespace penstock {
namespace {

// True when the text from `first` on is digits up to the next dot or the end.
bool ends_component(std::string_view name, size_t first) {
  const size_t next = name.find_first_not_of("0123456789", first);
  return next == std::string_view::npos || name[next] == '.';
}

bool matches(std::string_view name, std::string_view part) {
  for (size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    if (ends_component(name, at + part.size())) return true;
  }
  return false;
}

}  // namespace

bool is_spared_decay(const Parameter& parameter, const OptimizerConfig& config) {
  if (parameter.kind != ParameterKind::Matrix && !config.decay_all) return true;
  return std::any_of(config.no_decay.begin(), config.no_decay.end(),
                     [&](const std::string& part) { return matches(parameter.name, part); });
}

Optimizer::Optimizer(const OptimizerConfig& config, Slots slots)
    : config_(config), slots_(std::move(slots)) {}

void Optimizer::allocate(std::span<Parameter* const> parameters, Device& device) {
  if (device_ != nullptr) fail_internal("the optimizer's state was allocated twice");
  device_ = &device;
  entries_.reserve(parameters.size());
  for (Parameter* parameter : parameters) {
    if (!parameter->weight.value() || !parameter->gradient) {
      fail_internal("the optimizer got " + parameter->name + " before its weight and gradient");
    }
    const bool spared = is_spared_decay(*parameter, config_);
    Entry entry{parameter, spared ? 0.0F : static_cast<float>(config_.weight_decay), {}};
    for (const Slot& slot : slots_) {
      Tensor& state =
          entry.states.emplace_back(device.empty(parameter->shape, DType::F32, Purpose::Optimizer));
      device.pointwise().fill(state, slot.first);
    }
    entries_.push_back(std::move(entry));
  }
}

void Optimizer::step(double learning_rate, double gradient_scale) {
  if (device_ == nullptr) fail_internal("an optimizer step before allocate()");
  ++steps_;
  update(device_->update(), entries_, static_cast<float>(learning_rate),
         static_cast<float>(gradient_scale));
  for (Entry& entry : entries_) entry.parameter->weight.changed();
}

std::vector<StateTensor> Optimizer::state() const {
  std::vector<StateTensor> all;
  all.reserve(entries_.size() * slots_.size());
  for (const Entry& entry : entries_) {
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      all.push_back({entry.parameter->name, slots_[slot].name, entry.states[slot]});
    }
  }
  return all;
}

}  // namespace penstock
