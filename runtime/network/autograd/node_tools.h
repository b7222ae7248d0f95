// runtime/network/autograd/node_tools.h -- helpers that the nodes of functions.h share: new
// tensors, and the gradients of parameters. Private to this room.
#pragma once

#include "runtime/network/autograd/functions.h"

namespace penstock {

[[nodiscard]] inline Tensor new_tensor(Tape& tape, const Shape& shape, DType dtype) {
  return tape.device().empty(shape, dtype, Purpose::Activations);
}
[[nodiscard]] inline Tensor new_like(Tape& tape, const Tensor& t) {
  return new_tensor(tape, t.shape(), t.dtype());
}
// `g` itself when nobody else holds it, so that an op may overwrite it; else a new tensor like it.
[[nodiscard]] inline Tensor writable(Tape& tape, const Tensor& g) {
  return g.unique() ? g : new_like(tape, g);
}

// True when one of the parameters is trained: the op then has a weight half. Null: no such
// parameter.
[[nodiscard]] inline bool any_trained(const Parameter* a, const Parameter* b = nullptr) {
  return (a != nullptr && !a->frozen) || (b != nullptr && !b->frozen);
}
// The gradient of a trained parameter, to add to; set to zero first if it is stale.
[[nodiscard]] inline Tensor& summed_gradient(Tape& tape, Parameter& parameter) {
  if (parameter.stale) tape.device().pointwise().fill(parameter.gradient, 0.0F);
  parameter.stale = false;
  return parameter.gradient;
}
// The tensor to which a weight half adds a parameter's gradient when it gives several at once: the
// parameter's own or, for a frozen parameter, a tensor that is thrown away.
[[nodiscard]] inline Tensor gradient_of(Tape& tape, Parameter& parameter) {
  if (!parameter.frozen) return summed_gradient(tape, parameter);
  return tape.device().zeros(parameter.shape, DType::F32, Purpose::Activations);
}

}  // namespace penstock
