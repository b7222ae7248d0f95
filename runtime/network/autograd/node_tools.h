// runtime/network/autograd/node_tools.h -- helpers for those who write a function of functions.h
// and its Node: new tensors on the tape's device, and the gradients of parameters. Private to this
// folder.
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

// Null where the tensor is empty, as ops take what may be missing.
[[nodiscard]] inline const Tensor* address_of(const Tensor& t) {
  return t ? &t : nullptr;
}
// The numbers of a bias, null where there is none.
[[nodiscard]] inline const Tensor* value_of(const Parameter* bias) {
  return bias != nullptr ? &bias->weight.value() : nullptr;
}
// The tensor, empty where there is none: the other way round.
[[nodiscard]] inline Tensor held(const Tensor* t) {
  return t != nullptr ? *t : Tensor();
}

// What an op without weights leaves on the tape. `pull`, a function object, is the op's pullback:
// given the gradient of its one result, it gives the tape those of its inputs.
template <class Pull>
class PullbackNode final : public Node {
 public:
  PullbackNode(int y_slot, Pull pull) : y_slot_(y_slot), pull_(std::move(pull)) {}
  void input_gradient(Tape& tape) override {
    Tensor g = tape.take_gradient(y_slot_);
    if (g) pull_(g);
  }

 private:
  int y_slot_;
  Pull pull_;
};
// Records the op without weights whose result is y, unless nobody wants its gradient. pull(Tensor&)
// is not called where nobody gave y one. It owns what it needs, and may refer to the tape.
template <class Pull>
void record(Tape& tape, const Variable& y, Pull pull) {
  if (y.tracked()) tape.add<PullbackNode<Pull>>(y.slot, std::move(pull));
}

// True when one of the parameters is trained (not frozen): the op then has a weight half, that is,
// a gradient of weights to compute. Null: no such parameter.
[[nodiscard]] inline bool any_trained(const Parameter* a, const Parameter* b = nullptr) {
  return (a != nullptr && !a->frozen) || (b != nullptr && !b->frozen);
}
// The gradient of a trained parameter, to which the caller may add. Set to zero first if it is
// stale, that is, if it still holds the last step's numbers (Parameter::stale).
[[nodiscard]] inline Tensor& summed_gradient(Tape& tape, Parameter& parameter) {
  if (parameter.stale) tape.device().pointwise().fill(parameter.gradient, 0.0F);
  parameter.stale = false;
  return parameter.gradient;
}
// For ops that compute the gradients of several parameters in one call, some of which may be
// frozen: the parameter's own gradient, to add to, or, for a frozen parameter, a tensor of zeros
// that the caller throws away.
[[nodiscard]] inline Tensor gradient_of(Tape& tape, Parameter& parameter) {
  if (!parameter.frozen) return summed_gradient(tape, parameter);
  return tape.device().zeros(parameter.shape, DType::F32, Purpose::Activations);
}

}  // namespace penstock
