// matrix_functions.cpp -- functions.h: matrix products, and the feed-forward of a Transformer.
#include "runtime/network/autograd/product_node.h"

namespace penstock {
namespace {

class LinearNode : public ProductNode {
 public:
  LinearNode(const Variable& x, const Variable& y, Parameter& weight, Parameter* bias, Fused f)
      : ProductNode(x, y, weight, bias, f, true) {}

 protected:
  void differentiate_input(Device& device, Tensor& dx, const Tensor& g, Weight& weight) override {
    device.dense().linear_backward_input(dx, g, weight);
  }

 private:
  void differentiate_weight(Device& device, Tensor& dw, Tensor* dbias, const Tensor& x,
                            const Tensor& g, bool accumulate) override {
    device.dense().linear_backward_weight(dw, dbias, x, g, accumulate);
  }
  void differentiate_bias(Device& device, Tensor& dbias, const Tensor& g) override {
    device.dense().linear_backward_bias(dbias, g);
  }
};

// This is a node for linear(f(pre)) that gives the gradient of `pre`. So one fused op can do the
// product and the derivative of the activation `f`.
class ActivatedLinearNode final : public LinearNode {
 public:
  ActivatedLinearNode(const Tensor& activated, const Variable& pre, const Variable& y,
                      Parameter& weight, Parameter* bias, Activation f)
      : LinearNode({activated, pre.slot, nullptr}, y, weight, bias, Fused::None),
        pre_(pre.value),
        f_(f) {}

 private:
  void differentiate_input(Device& device, Tensor& dpre, const Tensor& g, Weight& weight) override {
    if (!device.dense().fused_linear_activation_backward(dpre, g, weight, pre_, f_)) {
      LinearNode::differentiate_input(device, dpre, g, weight);
      device.activation().backward(dpre, dpre, pre_, f_);
    }
    pre_.reset();
  }

  Tensor pre_;
  Activation f_;
};

Tensor new_result(Tape& tape, const Tensor& x, const Parameter& weight) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] = weight.shape[0];
  return new_tensor(tape, shape, x.dtype());
}

}  // namespace

Variable linear(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias, Fused f) {
  Tensor value = new_result(tape, x.value, weight);
  tape.device().dense().linear_forward(value, x.value, weight.weight, value_of(bias), f);
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&weight, bias));
  if (y.tracked()) tape.add<LinearNode>(x, y, weight, bias, f);
  return y;
}

Variable feed_forward(Tape& tape, const Variable& x, Parameter& in_weight, Parameter* in_bias,
                      Parameter& out_weight, Parameter* out_bias, Activation f) {
  DenseOps& ops = tape.device().dense();
  Tensor before = new_result(tape, x.value, in_weight);
  Tensor after = new_like(tape, before);
  if (!ops.fused_linear_activation(after, before, x.value, in_weight.weight, value_of(in_bias),
                                   f)) {
    before.reset();
    after.reset();
    return linear(tape, activation(tape, linear(tape, x, in_weight, in_bias), f), out_weight,
                  out_bias);
  }
  Variable pre = tape.output(std::move(before), x.tracked() || any_trained(&in_weight, in_bias));
  if (!pre.tracked()) pre.value.reset();  // no backward will ask for it
  if (pre.tracked()) tape.add<LinearNode>(x, pre, in_weight, in_bias, Fused::None);
  Tensor value = new_result(tape, after, out_weight);
  ops.linear_forward(value, after, out_weight.weight, value_of(out_bias), Fused::None);
  Variable y = tape.output(std::move(value), pre.tracked() || any_trained(&out_weight, out_bias));
  if (y.tracked()) tape.add<ActivatedLinearNode>(after, pre, y, out_weight, out_bias, f);
  return y;
}

Variable matmul(Tape& tape, const Variable& a, const Variable& b) {
  Tensor value = new_tensor(tape, {a.shape()[0], a.shape()[1], b.shape()[2]}, a.value.dtype());
  tape.device().dense().matmul(value, a.value, b.value, false, false, false);
  Variable c = tape.output(std::move(value), a.tracked() || b.tracked());
  record(tape, c, [&tape, a, b](const Tensor& g) {
    DenseOps& ops = tape.device().dense();
    if (a.tracked()) {
      Tensor da = new_like(tape, a.value);
      ops.matmul(da, g, b.value, false, true, false);
      tape.give_gradient(a.slot, std::move(da));
    }
    if (b.tracked()) {
      Tensor db = new_like(tape, b.value);
      ops.matmul(db, a.value, g, true, false, false);
      tape.give_gradient(b.slot, std::move(db));
    }
  });
  return c;
}

}  // namespace penstock
