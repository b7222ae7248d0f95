#include "runtime/network/layers/layer.h"

#include <algorithm>

#include "runtime/network/layers/undeclared.h"

namespace penstock {

const Tensor& Context::field(const std::string& name) const {
  const auto at = std::find(batch.field_names->begin(), batch.field_names->end(), name);
  if (at == batch.field_names->end()) {
    throw Undeclared("uses the batch field '" + name + "' without naming it in Layer::reads()");
  }
  return (*batch.fields)[static_cast<size_t>(at - batch.field_names->begin())];
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

Variables UnaryLayer::forward(Context& context, const Variables& inputs) const {
  return {run(context, inputs[0])};
}

}  // namespace penstock
