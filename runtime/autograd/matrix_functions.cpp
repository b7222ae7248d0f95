#include "runtime/autograd/product_node.h"

namespace penstock {
namespace {

class LinearNode final : public ProductNode {
 public:
  using ProductNode::ProductNode;

 private:
  void differentiate_input(Device& device, Tensor& dx, const Tensor& g, Weight& weight) override {
    device.dense().linear_backward_input(dx, g, weight);
  }
  void differentiate_weight(Device& device, Tensor& dw, Tensor* dbias, const Tensor& x,
                            const Tensor& g) override {
    device.dense().linear_backward_weight(dw, dbias, x, g);
  }
};

class MatmulNode final : public Node {
 public:
  MatmulNode(Variable a, Variable b, int c_slot)
      : a_(std::move(a)), b_(std::move(b)), c_slot_(c_slot) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(c_slot_);
    if (!g) return;
    DenseOps& ops = tape.device().dense();
    if (a_.tracked()) {
      Tensor da = new_like(tape, a_.value);
      ops.matmul(da, g, b_.value, false, true, false);
      tape.give_gradient(a_.slot, std::move(da));
    }
    if (b_.tracked()) {
      Tensor db = new_like(tape, b_.value);
      ops.matmul(db, a_.value, g, true, false, false);
      tape.give_gradient(b_.slot, std::move(db));
    }
  }

 private:
  Variable a_, b_;
  int c_slot_;
};

}  // namespace

Variable linear(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias, Fused f) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] = weight.shape[0];
  Tensor value = new_tensor(tape, shape, x.value.dtype());
  tape.device().dense().linear_forward(value, x.value, weight.weight,
                                       bias != nullptr ? &bias->weight.value() : nullptr, f);
  Variable y = tape.output(std::move(value), true);
  if (y.tracked()) tape.add<LinearNode>(x, y, weight, bias, f);
  return y;
}

Variable matmul(Tape& tape, const Variable& a, const Variable& b) {
  Tensor value = new_tensor(tape, {a.shape()[0], a.shape()[1], b.shape()[2]}, a.value.dtype());
  tape.device().dense().matmul(value, a.value, b.value, false, false, false);
  Variable c = tape.output(std::move(value), a.tracked() || b.tracked());
  if (c.tracked()) tape.add<MatmulNode>(a, b, c.slot);
  return c;
}

}  // namespace penstock
