// expert_functions.cpp -- functions.h: mixtures of experts.
#include "runtime/network/autograd/product_node.h"

namespace penstock {
namespace {

class GroupedLinearNode final : public ProductNode {
 public:
  GroupedLinearNode(const Variable& x, const Variable& y, Parameter& weight, Parameter* bias,
                    Tensor offsets)
      : ProductNode(x, y, weight, bias, Fused::None, true), offsets_(std::move(offsets)) {}

 private:
  void differentiate_input(Device& device, Tensor& dx, const Tensor& g, Weight& weight) override {
    device.experts().grouped_backward_input(dx, g, weight, offsets_);
  }
  void differentiate_weight(Device& device, Tensor& dw, Tensor* dbias, const Tensor& x,
                            const Tensor& g, bool accumulate) override {
    device.experts().grouped_backward_weight(dw, x, g, offsets_, accumulate);
    if (dbias != nullptr) differentiate_bias(device, *dbias, g);
  }
  void differentiate_bias(Device& device, Tensor& dbias, const Tensor& g) override {
    device.experts().expert_bias_backward(dbias, g, offsets_);
  }

  Tensor offsets_;
};

}  // namespace

Routed route(Tape& tape, const Variable& logits, int64_t chosen, const Router& router,
             const Tensor& correction) {
  const int64_t rows = logits.shape().rows();
  const auto numbers = [&tape](const Shape& shape) { return new_tensor(tape, shape, DType::I32); };
  const Routing routing{numbers({rows, chosen}), numbers({rows * chosen}), numbers({rows * chosen}),
                        numbers({logits.shape().back() + 1})};
  Tensor weights = new_tensor(tape, {rows, chosen}, DType::F32);
  tape.device().experts().route(routing, weights, logits.value, correction, router);
  Variable y = tape.output(std::move(weights), logits.tracked());
  record(tape, y, [&tape, logits, routing, router, weights = y.value](const Tensor& g) {
    Tensor dlogits = new_like(tape, logits.value);
    tape.device().experts().route_backward(dlogits, g, weights, logits.value, routing, router);
    tape.give_gradient(logits.slot, std::move(dlogits));
  });
  return {routing, y};
}

Variable gather(Tape& tape, const Variable& x, const Routing& routing) {
  const Shape shape = {routing.order.elements(), x.shape().back()};
  Tensor value = new_tensor(tape, shape, x.value.dtype());
  tape.device().experts().gather(value, x.value, routing);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, routing, slot = x.slot, from = x.shape()](const Tensor& g) {
    Tensor dx = new_tensor(tape, from, g.dtype());
    tape.device().experts().gather_backward(dx, g, routing);
    tape.give_gradient(slot, std::move(dx));
  });
  return y;
}

Variable grouped_linear(Tape& tape, const Variable& x, Parameter& weight, const Routing& routing,
                        Parameter* bias) {
  Tensor value = new_tensor(tape, {x.shape()[0], weight.shape[1]}, x.value.dtype());
  tape.device().experts().grouped_forward(value, x.value, weight.weight, routing.offsets);
  if (bias != nullptr) {
    tape.device().experts().add_expert_bias(value, bias->weight.value(), routing.offsets);
  }
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&weight, bias));
  if (y.tracked()) tape.add<GroupedLinearNode>(x, y, weight, bias, routing.offsets);
  return y;
}

Variable combine(Tape& tape, const Variable& x, const Routed& routed, const Shape& shape) {
  const Variable& weights = routed.weights;
  Tensor value = new_tensor(tape, shape, x.value.dtype());
  tape.device().experts().combine(value, x.value, weights.value, routed.routing);
  Variable y = tape.output(std::move(value), x.tracked() || weights.tracked());
  record(tape, y, [&tape, x, weights, routing = routed.routing](const Tensor& g) {
    Tensor dx = new_like(tape, x.value);
    Tensor dweights = new_like(tape, weights.value);
    tape.device().experts().combine_backward(dx, dweights, g, x.value, weights.value, routing);
    if (x.tracked()) tape.give_gradient(x.slot, std::move(dx));
    if (weights.tracked()) tape.give_gradient(weights.slot, std::move(dweights));
  });
  return y;
}

Variable gate_rows(Tape& tape, const Variable& x, const Variable& gate) {
  Tensor value = new_like(tape, x.value);
  tape.device().experts().gate_rows(value, x.value, gate.value);
  Variable y = tape.output(std::move(value), x.tracked() || gate.tracked());
  record(tape, y, [&tape, x, gate](const Tensor& g) {
    Tensor dx = new_like(tape, x.value);
    Tensor dgate = new_like(tape, gate.value);
    tape.device().experts().gate_rows_backward(dx, dgate, g, x.value, gate.value);
    if (x.tracked()) tape.give_gradient(x.slot, std::move(dx));
    if (gate.tracked()) tape.give_gradient(gate.slot, std::move(dgate));
  });
  return y;
}

}  // namespace penstock
