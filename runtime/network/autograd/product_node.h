// runtime/network/autograd/product_node.h -- ProductNode: what linear layers and convolutions leave
// on the tape for their backward, where y = f(x * w + bias). Private to this folder.
//
// The two derived classes, for a linear layer and for a convolution, write only the two products of
// the derivative: differentiate_input() and differentiate_weight(). This class keeps what these
// need (x unless it can be recomputed, and y if there is an f, whose derivative is computed from
// y), and takes and gives the gradients.
#pragma once

#include "runtime/network/autograd/node_tools.h"

namespace penstock {

class ProductNode : public Node {
 public:
  // x, y: the input and output of the op; f: what was applied to x * w + bias. The parameters must
  // outlive the node; `bias` may be null. `sums_bias`: the derived class overrides
  // differentiate_bias(), so that for a frozen weight only the bias is differentiated, for which x
  // need not be kept.
  ProductNode(const Variable& x, const Variable& y, Parameter& weight, Parameter* bias, Fused f,
              bool sums_bias)
      : source_(x.source),
        x_shape_(x.shape()),
        x_slot_(x.slot),
        y_slot_(y.slot),
        weight_(weight),
        bias_(bias),
        f_(f),
        bias_alone_(sums_bias && weight.frozen) {
    if (any_trained(&weight, bias) && !bias_alone_) {
      if (source_ == nullptr) {
        x_ = x.value;
      } else {
        source_->rely();
      }
    }
    if (f != Fused::None) y_ = y.value;
  }

  void input_gradient(Tape& tape) final {
    take_gradient(tape);
    give_input_gradient(tape);
  }
  void weight_gradient(Tape& tape) final {
    if (!g_ || !has_weights()) return;
    if (bias_alone_) return differentiate_bias(tape.device(), summed_gradient(tape, *bias_), g_);
    if (source_ != nullptr) x_ = source_->recompute(tape);
    // A stale gradient still holds the last step's numbers: it is overwritten, not added to.
    const bool accumulate = !weight_.stale;
    weight_.stale = false;
    Tensor dw = gradient_of(tape, weight_);
    Tensor* dbias = any_trained(bias_) ? &summed_gradient(tape, *bias_) : nullptr;
    differentiate_weight(tape.device(), dw, dbias, x_, g_, accumulate);
  }
  // Runs the weight half first: x is then freed before its gradient is allocated.
  void backward(Tape& tape) final {
    take_gradient(tape);
    weight_gradient(tape);
    x_.reset();
    tape.progress();
    give_input_gradient(tape);
  }
  [[nodiscard]] bool has_weights() const final { return any_trained(&weight_, bias_); }

 protected:
  // Overwrites dx. g is the gradient of x * w + bias, before f.
  virtual void differentiate_input(Device& device, Tensor& dx, const Tensor& g, Weight& weight) = 0;
  // Adds to dw, or overwrites it unless `accumulate`; always adds to dbias (null: there is no
  // trained bias).
  virtual void differentiate_weight(Device& device, Tensor& dw, Tensor* dbias, const Tensor& x,
                                    const Tensor& g, bool accumulate) = 0;
  // Adds the gradient of the bias to dbias and leaves the weight's out. By default it does nothing:
  // a class that overrides it says so by `sums_bias`.
  virtual void differentiate_bias(Device& /*device*/, Tensor& /*dbias*/, const Tensor& /*g*/) {}

 private:
  // Takes the gradient of y off the tape and turns it into g_, the gradient before f.
  void take_gradient(Tape& tape) {
    g_ = tape.take_gradient(y_slot_);
    if (!g_ || f_ == Fused::None) return;
    Tensor before = writable(tape, g_);
    tape.device().activation().fused_backward(before, g_, y_, f_);
    g_ = std::move(before);
    y_.reset();
  }
  void give_input_gradient(Tape& tape) {
    if (!g_ || x_slot_ < 0) return;
    Tensor dx = new_tensor(tape, x_shape_, g_.dtype());
    differentiate_input(tape.device(), dx, g_, weight_.weight);
    tape.give_gradient(x_slot_, std::move(dx));
  }

  Tensor x_, y_, g_;      // g_: empty where nobody gave y a gradient
  Recomputable* source_;  // recomputes x; null: x_ has it
  Shape x_shape_;
  int x_slot_, y_slot_;  // of the tape; x_slot_ < 0: nobody wants the gradient of x
  Parameter& weight_;
  Parameter* bias_;
  Fused f_;
  bool bias_alone_;  // the weight is frozen: its half needs no x and is no product
};

}  // namespace penstock
