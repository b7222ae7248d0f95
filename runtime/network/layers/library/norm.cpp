#include "runtime/network/layers/library/norm.h"

#include <algorithm>

namespace penstock {

LayerNorm::LayerNorm(std::string name, int64_t width, float epsilon, bool bias)
    : UnaryLayer(std::move(name)), width_(width), epsilon_(epsilon), bias_(bias) {}

void LayerNorm::declare(ParameterSet& set) const {
  set.add(gamma_, name() + ".weight", {width_}, {Initializer::Kind::Ones}, ParameterKind::Norm);
  if (bias_) set.add(beta_, name() + ".bias", {width_}, {}, ParameterKind::Bias);
}

Shape LayerNorm::shape_of(const Shape& input) const {
  if (input.rank() < 2 || input.back() != width_) {
    misfit("expects [batch, ..., " + std::to_string(width_) + "] but is given " + input.text());
  }
  return input;
}

Variable LayerNorm::run(Context& context, const Variable& x) const {
  return layer_norm(context.tape, x, context.parameter(gamma_), context.parameter_if(beta_),
                    epsilon_);
}

RmsNorm::RmsNorm(std::string name, int64_t width, float epsilon, bool zero_centered)
    : UnaryLayer(std::move(name)),
      width_(width),
      epsilon_(epsilon),
      zero_centered_(zero_centered) {}

void RmsNorm::declare(ParameterSet& set) const {
  const auto start = zero_centered_ ? Initializer::Kind::Zeros : Initializer::Kind::Ones;
  set.add(gamma_, name() + ".weight", {width_}, {start}, ParameterKind::Norm);
}

Shape RmsNorm::shape_of(const Shape& input) const {
  if (input.rank() < 2 || input.back() != width_) {
    misfit("expects [batch, ..., " + std::to_string(width_) + "] but is given " + input.text());
  }
  return input;
}

Variable RmsNorm::run(Context& context, const Variable& x) const {
  const float offset = zero_centered_ ? 1.0F : 0.0F;
  return rms_norm(context.tape, x, context.parameter(gamma_), offset, epsilon_);
}

BatchNorm::BatchNorm(std::string name, int64_t channels, const Options& options)
    : UnaryLayer(std::move(name)), channels_(channels), options_(options) {}

void BatchNorm::declare(ParameterSet& set) const {
  set.add(gamma_, name() + ".weight", {channels_}, {Initializer::Kind::Ones}, ParameterKind::Norm);
  set.add(beta_, name() + ".bias", {channels_}, {}, ParameterKind::Bias);
  set.add_buffer(mean_, name() + ".running_mean", {channels_}, 0.0F);
  set.add_buffer(variance_, name() + ".running_var", {channels_}, 1.0F);
  set.add_step_sums(sums_, name() + ".sums", {kNormSums, channels_});
}

Shape BatchNorm::shape_of(const Shape& input) const {
  if (input.rank() < 2 || input.back() != channels_) {
    misfit("expects [batch, ..., " + std::to_string(channels_) + "] but is given " + input.text());
  }
  return input;
}

Variable BatchNorm::run(Context& context, const Variable& x) const {
  Device& device = context.device();
  Parameter& gamma = context.parameter(gamma_);
  Parameter& beta = context.parameter(beta_);
  if (!context.training() || (gamma.frozen && beta.frozen)) {
    return fixed_batch_norm(context.tape, x, context.owned.buffer(mean_).value,
                            context.owned.buffer(variance_).value, gamma, beta, options_.epsilon);
  }
  Tensor sums = device.empty({kNormSums, channels_}, DType::F32, Purpose::Workspace);
  Variable y = context.batch.pass.replicas != nullptr
                   ? over_replicas(context, x, sums)
                   : batch_norm(context.tape, x, gamma, beta, options_.epsilon, sums);
  if (!context.recomputing) {
    StepSums& step = context.owned.step_sums(sums_);
    device.pointwise().accumulate(step.value, sums);
    step.rows += static_cast<double>(x.shape().rows());
  }
  return y;
}

// Normalises by the statistics of all replicas. A forward that leaves no tape is run again before
// its backward. Its statistics are remembered, so the second forward need not exchange them.
Variable BatchNorm::over_replicas(Context& context, const Variable& x, Tensor& sums) const {
  auto& remembered = context.owned.step_sums(sums_).remembered;
  const int64_t micro_batch = context.batch.global_index();
  BatchStatistics statistics;
  if (context.recomputing) {
    const auto kept = std::find_if(
        remembered.begin(), remembered.end(),
        [&](const StepSums::Remembered& one) { return one.micro_batch == micro_batch; });
    if (kept == remembered.end()) fail_internal(name() + " is run again before its first time");
    statistics = std::move(kept->statistics);
    remembered.erase(kept);
  }
  Variable y = batch_norm(context.tape, x, context.parameter(gamma_), context.parameter(beta_),
                          options_.epsilon, sums, *context.batch.pass.replicas, statistics);
  if (!context.recomputing && !context.tape.recording()) {
    remembered.push_back({micro_batch, std::move(statistics)});
  }
  return y;
}

void BatchNorm::end_step(const StepEnd& end) const {
  StepSums& step = end.owned.step_sums(sums_);
  const double n = step.rows * end.replicas;
  step.rows = 0.0;
  if (n == 0.0) return;
  // The moving variance takes the unbiased estimate, as evaluation in other frameworks expects.
  Tensor mean = end.device.empty({channels_}, DType::F32, Purpose::Workspace);
  Tensor variance = end.device.empty({channels_}, DType::F32, Purpose::Workspace);
  end.device.batch_norm().moments(mean, variance, step.value, n);
  // Mean and variance are averaged one at a time: the address of a single tensor is handed to the
  // kernel. A list of both would have new addresses in every step, and would be uploaded in every
  // step.
  const AverageTensors means{end.owned.buffer(mean_).value, mean};
  const AverageTensors variances{end.owned.buffer(variance_).value, variance};
  end.device.update().moving_average({&means, 1}, options_.decay);
  end.device.update().moving_average({&variances, 1}, options_.decay);
}

}  // namespace penstock
