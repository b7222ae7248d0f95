// norm_functions.cpp -- functions.h: layer, RMS and batch norms; batch norm adds up its sums over
// replicas here.
#include <cmath>
#include <vector>

#include "runtime/network/autograd/node_tools.h"

namespace penstock {
namespace {

// Computes layer norm, whose `beta` may be null, or RMS norm if `mean` is empty.
void norm_forward(Device& device, Tensor& y, Tensor& mean, Tensor& rstd, const Tensor& x,
                  const Parameter& gamma, const Parameter* beta, float offset, float epsilon) {
  RowNormOps& ops = device.row_norm();
  if (!mean) return ops.rms_norm_forward(y, rstd, x, gamma.weight.value(), offset, epsilon);
  const Tensor shift = beta != nullptr ? beta->weight.value() : Tensor();
  ops.layer_norm_forward(y, mean, rstd, x, gamma.weight.value(), shift, epsilon);
}

class RowNormNode final : public Node, public Recomputable {
 public:
  RowNormNode(const Variable& x, int y_slot, Tensor mean, Tensor rstd, Parameter& gamma,
              Parameter* beta, float offset, float epsilon)
      : offset_(offset),
        epsilon_(epsilon),
        x_(x.value),
        mean_(std::move(mean)),
        rstd_(std::move(rstd)),
        x_slot_(x.slot),
        y_slot_(y_slot),
        gamma_(gamma),
        beta_(beta) {}
  // The result is computed once for all nodes that ask for it: attention's three products ask one
  // after the other.
  Tensor recompute(Tape& tape) override {
    if (!again_) {
      again_ = new_like(tape, x_);
      norm_forward(tape.device(), again_, mean_, rstd_, x_, gamma_, beta_, offset_, epsilon_);
    }
    return again_;
  }
  void input_gradient(Tape& tape) override {
    again_.reset();
    g_ = tape.take_gradient(y_slot_);
    if (!g_ || x_slot_ < 0) return;
    Tensor dx = new_like(tape, x_);
    RowNormOps& ops = tape.device().row_norm();
    const Tensor& gamma = gamma_.weight.value();
    if (!mean_) {
      ops.rms_norm_backward_input(dx, g_, x_, rstd_, gamma, offset_);
    } else {
      ops.layer_norm_backward_input(dx, g_, x_, mean_, rstd_, gamma);
    }
    tape.give_gradient(x_slot_, std::move(dx));
  }
  void weight_gradient(Tape& tape) override {
    again_.reset();
    if (!g_ || !any_trained(&gamma_, beta_)) return;
    RowNormOps& ops = tape.device().row_norm();
    Tensor dgamma = gradient_of(tape, gamma_);
    if (!mean_) return ops.rms_norm_backward_weight(dgamma, g_, x_, rstd_);
    Tensor dbeta = beta_ != nullptr ? gradient_of(tape, *beta_) : Tensor();
    ops.layer_norm_backward_weight(dgamma, dbeta, g_, x_, mean_, rstd_);
  }
  [[nodiscard]] bool has_weights() const override {
    return relied_on() || any_trained(&gamma_, beta_);
  }

 private:
  float offset_, epsilon_;
  Tensor x_, mean_, rstd_, g_, again_;
  int x_slot_, y_slot_;
  Parameter& gamma_;
  Parameter* beta_;
};

// Layer norm if `centred`, else RMS norm, which alone has an `offset`, and no beta.
Variable row_norm(Tape& tape, const Variable& x, bool centred, Parameter& gamma, Parameter* beta,
                  float offset, float epsilon) {
  const Shape rows = {x.shape().rows()};
  Tensor value = new_like(tape, x.value);
  Tensor mean = centred ? new_tensor(tape, rows, DType::F32) : Tensor();
  Tensor rstd = new_tensor(tape, rows, DType::F32);
  norm_forward(tape.device(), value, mean, rstd, x.value, gamma, beta, offset, epsilon);
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&gamma, beta));
  if (y.tracked()) {
    y.source = &tape.add<RowNormNode>(x, y.slot, std::move(mean), std::move(rstd), gamma, beta,
                                      offset, epsilon);
  }
  return y;
}

std::vector<float> on_host(Device& device, const Tensor& t) {
  std::vector<float> values(static_cast<size_t>(t.elements()));
  device.copy_to_host(values.data(), t, t.size_bytes());
  return values;
}

Tensor sum_over_replicas(Device& device, const Tensor& t, Replicas& replicas) {
  std::vector<float> values = on_host(device, t);
  const std::vector<double> mine(values.begin(), values.end());
  const std::span<const double> all = replicas.gather(mine);
  for (size_t i = 0; i < values.size(); ++i) {
    double sum = 0.0;
    for (size_t at = i; at < all.size(); at += values.size()) sum += all[at];
    values[i] = static_cast<float>(sum);
  }
  Tensor sums = device.empty(t.shape(), DType::F32, Purpose::Activations);
  device.copy_from_host(sums, values.data(), sums.size_bytes());
  return sums;
}

// Merges the mean and 1 / sqrt(variance + epsilon) of the replicas' shares into those of the whole.
// The shares are of equal size, so variance + epsilon of the whole is the mean of the shares'
// (variance + epsilon) plus the variance of their means. No large numbers are subtracted (Chan et
// al. 1983).
void merge_over_replicas(Device& device, Tensor& mean, Tensor& rstd, Replicas& replicas) {
  std::vector<float> means = on_host(device, mean);
  std::vector<float> rstds = on_host(device, rstd);
  const size_t channels = means.size();
  std::vector<double> mine(means.begin(), means.end());
  mine.insert(mine.end(), rstds.begin(), rstds.end());
  const std::span<const double> all = replicas.gather(mine);
  const double share = 1.0 / replicas.count();
  for (size_t c = 0; c < channels; ++c) {
    double centre = 0.0;
    double spread = 0.0;
    for (size_t at = c; at < all.size(); at += 2 * channels) centre += share * all[at];
    for (size_t at = c; at < all.size(); at += 2 * channels) {
      const double away = all[at] - centre;
      const double inverse = all[at + channels];
      spread += share * (1.0 / (inverse * inverse) + away * away);
    }
    means[c] = static_cast<float>(centre);
    rstds[c] = static_cast<float>(1.0 / std::sqrt(spread));
  }
  device.copy_from_host(mean, means.data(), mean.size_bytes());
  device.copy_from_host(rstd, rstds.data(), rstd.size_bytes());
}

class BatchNormNode final : public Node {
 public:
  // `replicas` is null if the statistics are those of this micro-batch alone.
  BatchNormNode(const Variable& x, int y_slot, Tensor mean, Tensor rstd, Parameter& gamma,
                Parameter& beta, Replicas* replicas)
      : x_(x.value),
        mean_(std::move(mean)),
        rstd_(std::move(rstd)),
        x_slot_(x.slot),
        y_slot_(y_slot),
        gamma_(gamma),
        beta_(beta),
        replicas_(replicas) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    BatchNormOps& ops = tape.device().batch_norm();
    const Tensor& gamma = gamma_.weight.value();
    parameters_ = new_tensor(tape, {2, gamma_.elements()}, DType::F32);
    Tensor dx = new_like(tape, x_);
    if (replicas_ == nullptr) {
      ops.backward(dx, parameters_, g, x_, mean_, rstd_, gamma);
    } else {
      ops.gradients(parameters_, g, x_, mean_, rstd_);
      const Tensor all = sum_over_replicas(tape.device(), parameters_, *replicas_);
      const int64_t positions = x_.shape().rows() * replicas_->count();
      ops.backward_input(dx, all, positions, g, x_, mean_, rstd_, gamma);
    }
    x_.reset();
    if (x_slot_ >= 0) tape.give_gradient(x_slot_, std::move(dx));
  }
  void weight_gradient(Tape& tape) override {
    if (!parameters_) return;
    const int64_t channels = gamma_.elements();
    PointwiseOps& ops = tape.device().pointwise();
    if (!gamma_.frozen) {
      ops.accumulate(summed_gradient(tape, gamma_), parameters_.view(0, {channels}));
    }
    if (!beta_.frozen) {
      ops.accumulate(summed_gradient(tape, beta_), parameters_.view(channels, {channels}));
    }
  }
  [[nodiscard]] bool has_weights() const override { return any_trained(&gamma_, &beta_); }

 private:
  Tensor x_, mean_, rstd_, parameters_;
  int x_slot_, y_slot_;
  Parameter& gamma_;
  Parameter& beta_;
  Replicas* replicas_;
};

}  // namespace

Variable layer_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter* beta,
                    float epsilon) {
  return row_norm(tape, x, true, gamma, beta, 0.0F, epsilon);
}

Variable rms_norm(Tape& tape, const Variable& x, Parameter& gamma, float offset, float epsilon) {
  return row_norm(tape, x, false, gamma, nullptr, offset, epsilon);
}

Variable batch_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta, float epsilon,
                    Tensor& sums) {
  const int64_t channels = gamma.elements();
  Tensor value = new_like(tape, x.value);
  Tensor mean = new_tensor(tape, {channels}, DType::F32);
  Tensor rstd = new_tensor(tape, {channels}, DType::F32);
  tape.device().batch_norm().forward(value, mean, rstd, sums, x.value, gamma.weight.value(),
                                     beta.weight.value(), epsilon);
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&gamma, &beta));
  if (y.tracked()) {
    tape.add<BatchNormNode>(x, y.slot, std::move(mean), std::move(rstd), gamma, beta, nullptr);
  }
  return y;
}

Variable batch_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta, float epsilon,
                    Tensor& sums, Replicas& replicas, BatchStatistics& found) {
  const int64_t channels = gamma.elements();
  BatchNormOps& ops = tape.device().batch_norm();
  if (!found.mean) {
    found = {new_tensor(tape, {channels}, DType::F32), new_tensor(tape, {channels}, DType::F32)};
    ops.statistics(found.mean, found.rstd, sums, x.value, epsilon);
    merge_over_replicas(tape.device(), found.mean, found.rstd, replicas);
  }
  Tensor value = new_like(tape, x.value);
  ops.apply(value, x.value, found.mean, found.rstd, gamma.weight.value(), beta.weight.value());
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&gamma, &beta));
  if (y.tracked()) {
    tape.add<BatchNormNode>(x, y.slot, found.mean, found.rstd, gamma, beta, &replicas);
  }
  return y;
}

Variable fixed_batch_norm(Tape& tape, const Variable& x, const Tensor& mean, const Tensor& variance,
                          const Parameter& gamma, const Parameter& beta, float epsilon) {
  Tensor value = new_like(tape, x.value);
  tape.device().batch_norm().inference(value, x.value, mean, variance, gamma.weight.value(),
                                       beta.weight.value(), epsilon);
  Variable y = tape.output(std::move(value), x.tracked());
  // The gradient is dx = g gamma / sqrt(variance + epsilon). inference() computes just that from g
  // if mean and beta are zero.
  record(tape, y, [&tape, &gamma, to = x.slot, variance, epsilon](const Tensor& g) {
    const Tensor zero = tape.device().zeros({gamma.elements()}, DType::F32, Purpose::Activations);
    Tensor dx = new_like(tape, g);
    tape.device().batch_norm().inference(dx, g, zero, variance, gamma.weight.value(), zero,
                                         epsilon);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

}  // namespace penstock
