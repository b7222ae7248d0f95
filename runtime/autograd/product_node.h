// runtime/autograd/product_node.h -- what linear layers and convolutions share on the tape: y = f(x
// * w + bias), with an f that is differentiated from y. Private to this room.
#pragma once

#include "runtime/autograd/node_tools.h"

namespace penstock {

class ProductNode : public Node {
 public:
  ProductNode(const Variable& x, const Variable& y, Parameter& weight, Parameter* bias, Fused f)
      : x_(x.value), x_slot_(x.slot), y_slot_(y.slot), weight_(weight), bias_(bias), f_(f) {
    if (f != Fused::None) y_ = y.value;
  }

  void input_gradient(Tape& tape) final {
    g_ = tape.take_gradient(y_slot_);
    if (!g_) return;
    if (f_ != Fused::None) {
      Tensor before = writable(tape, g_);
      tape.device().pointwise().fused_backward(before, g_, y_, f_);
      g_ = std::move(before);
      y_.reset();
    }
    if (x_slot_ < 0) return;
    Tensor dx = new_like(tape, x_);
    differentiate_input(tape.device(), dx, g_, weight_.weight);
    tape.give_gradient(x_slot_, std::move(dx));
  }
  void weight_gradient(Tape& tape) final {
    if (!g_ || !has_weights()) return;
    Tensor dw = gradient_of(tape, weight_);
    differentiate_weight(tape.device(), dw, any_trained(bias_) ? &bias_->gradient : nullptr, x_,
                         g_);
  }
  [[nodiscard]] bool has_weights() const final { return any_trained(&weight_, bias_); }

 protected:
  // dx = ...; g is the gradient before f.
  virtual void differentiate_input(Device& device, Tensor& dx, const Tensor& g, Weight& weight) = 0;
  // dw += ..., dbias += ... (null: no bias)
  virtual void differentiate_weight(Device& device, Tensor& dw, Tensor* dbias, const Tensor& x,
                                    const Tensor& g) = 0;

 private:
  Tensor x_, y_, g_;
  int x_slot_, y_slot_;
  Parameter& weight_;
  Parameter* bias_;
  Fused f_;
};

}  // namespace penstock
