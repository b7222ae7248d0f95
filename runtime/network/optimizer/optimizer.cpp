#include "runtime/network/optimizer/optimizer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kernels/error.h"
#include "kernels/ops/pointwise.h"
#include "kernels/ops/update.h"
#include "runtime/network/autograd/name_patterns.h"
#include "runtime/network/optimizer/matrices/matrix_size.h"

namespace penstock {
namespace {

// Returns whether the text has only digits from `first` to the next dot, or to its end.
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

bool is_spared_decay(const StateEntry& entry, const OptimizerConfig& config) {
  if (entry.kind != StateKind::Matrix && !config.decay_all) return true;
  return std::any_of(config.no_decay.begin(), config.no_decay.end(),
                     [&](const std::string& part) { return matches(entry.name, part); });
}

std::string decay_note(const OptimizerConfig& config, std::span<const std::string> parameters) {
  std::string unmatched;
  for (const std::string& part : config.no_decay) {
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&](const std::string& name) { return matches(name, part); })) {
      unmatched += (unmatched.empty() ? "'" : ", '") + part + "'";
    }
  }
  if (unmatched.empty()) return "";
  return "note: optimizer.no_decay: no parameter's name has the part " + unmatched +
         " (penstock inspect lists them)";
}

bool is_updated_whole(const Parameter& parameter, const OptimizerConfig& config) {
  if (config.kind == "adafactor") return true;
  return config.kind == "muon" && parameter.kind == ParameterKind::Matrix &&
         parameter.shape.rank() >= 2 && !matches_any(parameter.name, config.adamw_for);
}

Optimizer::Optimizer(const OptimizerConfig& config, Slots slots)
    : config_(config), slots_(std::move(slots)) {}

Shape Optimizer::own_shape_of(const Slot& slot, const StateEntry& entry) {
  if (slot.extent == Extent::Elements) return {};
  const MatrixSize size = matrix_size(entry.value.shape());
  return {slot.extent == Extent::Rows ? size.rows : size.columns};
}

void Optimizer::allocate(StateRange range, Device& device) {
  if (device_ != nullptr) fail_internal("the optimizer's state was allocated twice");
  device_ = &device;
  for (StateEntry* entry : range) {
    if (!entry->trained || !entry->is_parameter()) continue;
    if (!entry->value || !entry->gradient) {
      fail_internal("the optimizer got " + entry->name + " before its weight and gradient");
    }
    entry->decayed = !is_spared_decay(*entry, config_);
    entry->updated_whole = is_updated_whole(*entry->holders.front(), config_);
    entry->states.clear();
    const Shape shape = entry->own_part(entry->value).shape();
    const bool here = shape.elements() > 0;
    for (const Slot& slot : slots_of(*entry)) {
      const Shape own = own_shape_of(slot, *entry);
      Tensor state =
          device.empty(own.rank() == 0 || !here ? shape : own, DType::F32, Purpose::Optimizer);
      device.pointwise().fill(state, slot.first);
      entry->states.push_back({slot.name, std::move(state), own});
    }
    if (here) entries_.push_back(entry);
  }
  allocate_scratch(entries_, device);
}

void Optimizer::step(double learning_rate, double gradient_scale) {
  if (device_ == nullptr) fail_internal("an optimizer step before allocate()");
  ++steps_;
  update(*device_, entries_, static_cast<float>(learning_rate), static_cast<float>(gradient_scale));
  for (StateEntry* entry : entries_) {
    entry->changed();
    after_op(*device_, entry->own_part(entry->value));
    for (const StateSlot& slot : entry->states) after_op(*device_, slot.tensor);
  }
}

void Optimizer::repeat(StateEntry& copy, double learning_rate, double gradient_scale) {
  StateEntry* one = &copy;
  update(*device_, {&one, 1}, static_cast<float>(learning_rate),
         static_cast<float>(gradient_scale));
}

}  // namespace penstock
