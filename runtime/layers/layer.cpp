#include "runtime/layers/layer.h"

#include <algorithm>

namespace penstock {

void ParameterSet::claim(const std::string& name) {
  if (!names_.insert(name).second) fail_input("two parameters are called '" + name + "'");
}

Parameter& ParameterSet::add(const std::string& name, const Shape& shape, const Initializer& init,
                             ParameterKind kind) {
  claim(name);
  return parameters_.emplace_back(Parameter{name, shape, init, kind, {}, {}});
}

Parameter& ParameterSet::share(const std::string& name, const Shape& shape, const Initializer& init,
                               ParameterKind kind) {
  const auto first = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const Parameter& p) { return p.tied && p.name == name; });
  if (first == parameters_.end()) {
    Parameter& parameter = add(name, shape, init, kind);
    parameter.tied = true;
    return parameter;
  }
  if (first->shape != shape) {
    fail_input("the shared parameter '" + name + "' is " + first->shape.text() +
               " in one layer and " + shape.text() + " in another");
  }
  Parameter& parameter = parameters_.emplace_back();
  parameter.name = name;
  parameter.shape = shape;
  parameter.init = init;
  parameter.kind = kind;
  parameter.tied = true;
  parameter.first = &*first;
  return parameter;
}

Buffer& ParameterSet::add_buffer(const std::string& name, const Shape& shape, float initial) {
  claim(name);
  return buffers_.emplace_back(Buffer{name, shape, initial, {}});
}

StepSums& ParameterSet::add_step_sums(const Shape& shape) {
  return step_sums_.emplace_back(StepSums{shape, {}});
}

int64_t ParameterSet::elements() const {
  int64_t total = 0;
  for (const Parameter& parameter : parameters_) {
    if (parameter.first == nullptr) total += parameter.elements();
  }
  return total;
}

const Tensor& Context::field(const std::string& name) const {
  const auto at = std::find(field_names->begin(), field_names->end(), name);
  if (at == field_names->end()) {
    fail_internal("a layer uses the batch field '" + name +
                  "' without naming it in Layer::reads()");
  }
  return (*fields)[static_cast<size_t>(at - field_names->begin())];
}

void Layer::misfit(const std::string& what) const {
  fail_input("layer '" + name_ + "' (" + kind() + "): " + what);
}

Shapes UnaryLayer::infer(const Shapes& inputs) const {
  if (inputs.size() != 1) {
    misfit("takes one tensor, but the layer before it gives " + std::to_string(inputs.size()));
  }
  return {shape_of(inputs[0])};
}

Variables UnaryLayer::forward(Context& context, const Variables& inputs) {
  return {run(context, inputs[0])};
}

}  // namespace penstock
