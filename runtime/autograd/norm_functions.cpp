#include "runtime/autograd/node_tools.h"

namespace penstock {
namespace {

class LayerNormNode final : public Node, public Recomputable {
 public:
  LayerNormNode(const Variable& x, int y_slot, Tensor mean, Tensor rstd, Parameter& gamma,
                Parameter& beta, float epsilon)
      : epsilon_(epsilon),
        x_(x.value),
        mean_(std::move(mean)),
        rstd_(std::move(rstd)),
        x_slot_(x.slot),
        y_slot_(y_slot),
        gamma_(gamma),
        beta_(beta) {}
  // One result for all who ask: attention's three products do, one after the other.
  Tensor recompute(Tape& tape) override {
    if (!again_) {
      again_ = new_like(tape, x_);
      tape.device().norm().layer_norm_forward(again_, mean_, rstd_, x_, gamma_.weight.value(),
                                              beta_.weight.value(), epsilon_);
    }
    return again_;
  }
  void input_gradient(Tape& tape) override {
    again_.reset();
    g_ = tape.take_gradient(y_slot_);
    if (!g_ || x_slot_ < 0) return;
    Tensor dx = new_like(tape, x_);
    tape.device().norm().layer_norm_backward_input(dx, g_, x_, mean_, rstd_, gamma_.weight.value());
    tape.give_gradient(x_slot_, std::move(dx));
  }
  void weight_gradient(Tape& tape) override {
    again_.reset();
    if (!g_) return;
    tape.device().norm().layer_norm_backward_weight(gamma_.gradient, beta_.gradient, g_, x_, mean_,
                                                    rstd_);
  }
  [[nodiscard]] bool has_weights() const override { return true; }

 private:
  float epsilon_;
  Tensor x_, mean_, rstd_, g_, again_;
  int x_slot_, y_slot_;
  Parameter& gamma_;
  Parameter& beta_;
};

class BatchNormNode final : public Node {
 public:
  BatchNormNode(const Variable& x, int y_slot, Tensor mean, Tensor rstd, Parameter& gamma,
                Parameter& beta)
      : x_(x.value),
        mean_(std::move(mean)),
        rstd_(std::move(rstd)),
        x_slot_(x.slot),
        y_slot_(y_slot),
        gamma_(gamma),
        beta_(beta) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    parameters_ = new_tensor(tape, {2, gamma_.elements()}, DType::F32);
    Tensor dx = new_like(tape, x_);
    tape.device().norm().batch_norm_backward(dx, parameters_, g, x_, mean_, rstd_,
                                             gamma_.weight.value());
    x_.reset();
    if (x_slot_ >= 0) tape.give_gradient(x_slot_, std::move(dx));
  }
  void weight_gradient(Tape& tape) override {
    if (!parameters_) return;
    const int64_t channels = gamma_.elements();
    PointwiseOps& ops = tape.device().pointwise();
    ops.accumulate(gamma_.gradient, parameters_.view(0, {channels}));
    ops.accumulate(beta_.gradient, parameters_.view(channels, {channels}));
  }
  [[nodiscard]] bool has_weights() const override { return true; }

 private:
  Tensor x_, mean_, rstd_, parameters_;
  int x_slot_, y_slot_;
  Parameter& gamma_;
  Parameter& beta_;
};

}  // namespace

Variable layer_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta,
                    float epsilon) {
  const int64_t rows = x.shape().rows();
  Tensor value = new_like(tape, x.value);
  Tensor mean = new_tensor(tape, {rows}, DType::F32);
  Tensor rstd = new_tensor(tape, {rows}, DType::F32);
  tape.device().norm().layer_norm_forward(value, mean, rstd, x.value, gamma.weight.value(),
                                          beta.weight.value(), epsilon);
  Variable y = tape.output(std::move(value), true);
  if (y.tracked()) {
    y.source =
        &tape.add<LayerNormNode>(x, y.slot, std::move(mean), std::move(rstd), gamma, beta, epsilon);
  }
  return y;
}

Variable batch_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta, float epsilon,
                    Tensor& sums) {
  const int64_t channels = gamma.elements();
  Tensor value = new_like(tape, x.value);
  Tensor mean = new_tensor(tape, {channels}, DType::F32);
  Tensor rstd = new_tensor(tape, {channels}, DType::F32);
  tape.device().norm().batch_norm_forward(value, mean, rstd, sums, x.value, gamma.weight.value(),
                                          beta.weight.value(), epsilon);
  Variable y = tape.output(std::move(value), true);
  if (y.tracked()) {
    tape.add<BatchNormNode>(x, y.slot, std::move(mean), std::move(rstd), gamma, beta);
  }
  return y;
}

}  // namespace penstock
