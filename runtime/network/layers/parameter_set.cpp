#include "runtime/network/layers/parameter_set.h"

#include <algorithm>

#include "kernels/error.h"
#include "runtime/network/layers/undeclared.h"

namespace penstock {

void ParameterSet::claim(const std::string& name) {
  if (!names_.insert(name).second) fail_input("two parameters are called '" + name + "'");
}

void ParameterSet::undeclared() {
  throw Undeclared("asks for what it has not declared: name it in Layer::declare()");
}

Parameter& ParameterSet::add(const Slot& slot, const std::string& name, const Shape& shape,
                             const Initializer& init, ParameterKind kind) {
  claim(name);
  Parameter& parameter = declared_.parameters.emplace_back();
  parameter.name = name;
  parameter.shape = shape;
  parameter.init = init;
  parameter.kind = kind;
  by_slot_.put(slot, &parameter);
  return parameter;
}

Parameter& ParameterSet::share(const Slot& slot, const std::string& name, const Shape& shape,
                               const Initializer& init, ParameterKind kind) {
  const auto first = std::find_if(declared_.parameters.begin(), declared_.parameters.end(),
                                  [&](const Parameter& p) { return p.tied && p.name == name; });
  if (first == declared_.parameters.end()) {
    Parameter& parameter = add(slot, name, shape, init, kind);
    parameter.tied = true;
    return parameter;
  }
  if (first->shape != shape) {
    fail_input("the shared parameter '" + name + "' is " + first->shape.text() +
               " in one layer and " + shape.text() + " in another");
  }
  Parameter& earlier = *first;
  Parameter& parameter = declared_.parameters.emplace_back();
  parameter.name = name;
  parameter.shape = shape;
  parameter.init = init;
  parameter.kind = kind;
  parameter.tied = true;
  parameter.first = &earlier;
  by_slot_.put(slot, &parameter);
  return parameter;
}

void ParameterSet::add_buffer(const Slot& slot, const std::string& name, const Shape& shape,
                              float initial) {
  claim(name);
  buffer_by_slot_.put(slot, &declared_.buffers.emplace_back(Buffer{name, shape, initial, {}}));
}

void ParameterSet::add_step_sums(const Slot& slot, const std::string& name, const Shape& shape) {
  StepSums& sums = declared_.step_sums.emplace_back();
  sums.name = name;
  sums.shape = shape;
  sums_by_slot_.put(slot, &sums);
}

void ParameterSet::add_constant(const Slot& slot, const std::string& shared_as) {
  Tensor* constant = nullptr;
  if (!shared_as.empty()) constant = shared_constants_[shared_as];
  if (constant == nullptr) constant = &declared_.constants.emplace_back();
  if (!shared_as.empty()) shared_constants_[shared_as] = constant;
  constant_by_slot_.put(slot, constant);
}

int64_t Declared::elements(size_t from) const {
  int64_t total = 0;
  for (size_t i = from; i < parameters.size(); ++i) {
    if (parameters[i].first != nullptr) continue;
    total += parameters[i].elements();
    if (total > kMostElements) fail_too_large("the network");
  }
  return total;
}

}  // namespace penstock
