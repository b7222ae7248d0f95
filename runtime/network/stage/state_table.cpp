#include "runtime/network/stage/state_table.h"

#include <unordered_map>
#include <utility>

namespace penstock {
namespace {

StateKind kind_of(const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::Matrix:
      return StateKind::Matrix;
    case ParameterKind::Bias:
      return StateKind::Bias;
    case ParameterKind::Norm:
      return StateKind::Norm;
  }
  return StateKind::Matrix;
}

std::string layer_of(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

}  // namespace

std::vector<KeptBeside> kept_beside(const StateEntry& entry) {
  std::vector<KeptBeside> all;
  const Shape& shape = entry.value.shape();
  for (const StateSlot& state : entry.states) {
    KeptBeside kept{entry.name + "." + state.name, state.tensor, shape, entry.cuts};
    if (state.own_shape.rank() > 0) {
      kept.shape = state.own_shape;
      for (int64_t& cut : kept.cuts) cut = cut == 0 ? 0 : kept.shape.elements();
    }
    all.push_back(std::move(kept));
  }
  if (entry.average) all.push_back({entry.name + ".average", entry.average, shape, entry.cuts});
  return all;
}

StateTable::StateTable(ParameterSet& set) {
  std::unordered_map<const Parameter*, StateEntry*> entry_of;  // by the first holder of a parameter
  std::unordered_map<std::string, bool> trained;  // whether a layer has a trained parameter
  for (Parameter& parameter : set.declared().parameters) {
    trained[layer_of(parameter.name)] |= !parameter.frozen;
    if (parameter.first != nullptr) {
      entry_of.at(parameter.first)->holders.push_back(&parameter);
      continue;
    }
    StateEntry& entry = entries_.emplace_back();
    entry.name = parameter.name;
    entry.kind = kind_of(parameter);
    entry.holders = {&parameter};
    entry.trained = !parameter.frozen;
    entry.tied = parameter.tied;
    entry_of.emplace(&parameter, &entry);
  }
  for (Buffer& buffer : set.declared().buffers) {
    StateEntry& entry = entries_.emplace_back();
    entry.name = buffer.name;
    entry.kind = StateKind::Buffer;
    entry.buffer = &buffer;
    const auto layer = trained.find(layer_of(buffer.name));
    entry.trained = layer == trained.end() || layer->second;
  }
  for (StateEntry& entry : entries_) {
    entry.place = order_.size();
    order_.push_back(&entry);
  }
}

void StateTable::bind() {
  for (StateEntry& entry : entries_) {
    if (!entry.is_parameter()) {
      entry.value = entry.buffer->value;
      continue;
    }
    entry.value = entry.holders.front()->weight.value();
    entry.gradient = entry.holders.front()->gradient;
  }
}

}  // namespace penstock
