#include "runtime/autograd/node_tools.h"

namespace penstock {
namespace {

class LayerNormNode final : public Node {
 public:
  LayerNormNode(const Variable& x, int y_slot, Tensor mean, Tensor rstd, Parameter& gamma,
                Parameter& beta)
      : x_(x.value),
        mean_(std::move(mean)),
        rstd_(std::move(rstd)),
        x_slot_(x.slot),
        y_slot_(y_slot),
        gamma_(gamma),
        beta_(beta) {}
  void input_gradient(Tape& tape) override {
    g_ = tape.take_gradient(y_slot_);
    if (!g_ || x_slot_ < 0) return;
    Tensor dx = new_like(tape, x_);
    tape.device().norm().layer_norm_backward_input(dx, g_, x_, mean_, rstd_, gamma_.weight.value());
    tape.give_gradient(x_slot_, std::move(dx));
  }
  void weight_gradient(Tape& tape) override {
    if (!g_ || !has_weights()) return;
    Tensor dgamma = gradient_of(tape, gamma_);
    Tensor dbeta = gradient_of(tape, beta_);
    tape.device().norm().layer_norm_backward_weight(dgamma, dbeta, g_, x_, mean_, rstd_);
  }
  [[nodiscard]] bool has_weights() const override { return any_trained(&gamma_, &beta_); }

 private:
  Tensor x_, mean_, rstd_, g_;
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
    if (!gamma_.frozen) ops.accumulate(gamma_.gradient, parameters_.view(0, {channels}));
    if (!beta_.frozen) ops.accumulate(beta_.gradient, parameters_.view(channels, {channels}));
  }
  [[nodiscard]] bool has_weights() const override { return any_trained(&gamma_, &beta_); }

 private:
  Tensor x_, mean_, rstd_, parameters_;
  int x_slot_, y_slot_;
  Parameter& gamma_;
  Parameter& beta_;
};

// dx = g gamma / sqrt(variance + epsilon): the map itself, of mean and beta zero.
class FixedBatchNormNode final : public Node {
 public:
  FixedBatchNormNode(int x_slot, int y_slot, const Tensor& variance, const Parameter& gamma,
                     float epsilon)
      : variance_(variance), gamma_(gamma), epsilon_(epsilon), x_slot_(x_slot), y_slot_(y_slot) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    const Tensor zero = tape.device().zeros({gamma_.elements()}, DType::F32, Purpose::Activations);
    Tensor dx = new_like(tape, g);
    tape.device().norm().batch_norm_inference(dx, g, zero, variance_, gamma_.weight.value(), zero,
                                              epsilon_);
    tape.give_gradient(x_slot_, std::move(dx));
  }

 private:
  Tensor variance_;
  const Parameter& gamma_;
  float epsilon_;
  int x_slot_, y_slot_;
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
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&gamma, &beta));
  if (y.tracked()) {
    tape.add<LayerNormNode>(x, y.slot, std::move(mean), std::move(rstd), gamma, beta);
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
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&gamma, &beta));
  if (y.tracked()) {
    tape.add<BatchNormNode>(x, y.slot, std::move(mean), std::move(rstd), gamma, beta);
  }
  return y;
}

Variable fixed_batch_norm(Tape& tape, const Variable& x, const Tensor& mean, const Tensor& variance,
                          const Parameter& gamma, const Parameter& beta, float epsilon) {
  Tensor value = new_like(tape, x.value);
  tape.device().norm().batch_norm_inference(value, x.value, mean, variance, gamma.weight.value(),
                                            beta.weight.value(), epsilon);
  Variable y = tape.output(std::move(value), x.tracked());
  if (y.tracked()) tape.add<FixedBatchNormNode>(x.slot, y.slot, variance, gamma, epsilon);
  return y;
}

}  // namespace penstock
