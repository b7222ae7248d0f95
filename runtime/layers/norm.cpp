#include "runtime/layers/norm.h"

#include <algorithm>

namespace penstock {

LayerNorm::LayerNorm(std::string name, int64_t width, float epsilon)
    : UnaryLayer(std::move(name)), width_(width), epsilon_(epsilon) {}

void LayerNorm::declare(ParameterSet& set) {
  gamma_ = &set.add(name() + ".weight", {width_}, {Initializer::Kind::Ones}, ParameterKind::Norm);
  beta_ = &set.add(name() + ".bias", {width_}, {}, ParameterKind::Bias);
}

Shape LayerNorm::shape_of(const Shape& input) const {
  if (input.rank() < 2 || input.back() != width_) {
    misfit("expects [batch, ..., " + std::to_string(width_) + "] but is given " + input.text());
  }
  return input;
}

Variable LayerNorm::run(Context& context, const Variable& x) {
  return layer_norm(context.tape, x, *gamma_, *beta_, epsilon_);
}

BatchNorm::BatchNorm(std::string name, int64_t channels, const Options& options)
    : UnaryLayer(std::move(name)), channels_(channels), options_(options) {}

void BatchNorm::declare(ParameterSet& set) {
  gamma_ =
      &set.add(name() + ".weight", {channels_}, {Initializer::Kind::Ones}, ParameterKind::Norm);
  beta_ = &set.add(name() + ".bias", {channels_}, {}, ParameterKind::Bias);
  mean_ = &set.add_buffer(name() + ".running_mean", {channels_}, 0.0F);
  variance_ = &set.add_buffer(name() + ".running_var", {channels_}, 1.0F);
  sums_ = &set.add_step_sums({kNormSums, channels_});
  kept_.clear();
}

Shape BatchNorm::shape_of(const Shape& input) const {
  if (input.rank() < 2 || input.back() != channels_) {
    misfit("expects [batch, ..., " + std::to_string(channels_) + "] but is given " + input.text());
  }
  return input;
}

Variable BatchNorm::run(Context& context, const Variable& x) {
  Device& device = context.device();
  if (!context.training || frozen()) {
    return fixed_batch_norm(context.tape, x, mean_->value, variance_->value, *gamma_, *beta_,
                            options_.epsilon);
  }
  Tensor sums = device.empty({kNormSums, channels_}, DType::F32, Purpose::Workspace);
  Variable y = context.replicas != nullptr
                   ? over_replicas(context, x, sums)
                   : batch_norm(context.tape, x, *gamma_, *beta_, options_.epsilon, sums);
  if (!context.recomputing) {
    device.pointwise().accumulate(sums_->value, sums);
    rows_ += static_cast<double>(x.shape().rows());
  }
  return y;
}

// A forward that leaves no tape is one that comes again: it finds what the first one heard of the
// other replicas.
Variable BatchNorm::over_replicas(Context& context, const Variable& x, Tensor& sums) {
  BatchStatistics statistics;
  if (context.recomputing) {
    const auto kept = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) {
      return one.micro_batch == context.micro_batch;
    });
    if (kept == kept_.end()) fail_internal(name() + " is run again before its first time");
    statistics = std::move(kept->statistics);
    kept_.erase(kept);
  }
  Variable y = batch_norm(context.tape, x, *gamma_, *beta_, options_.epsilon, sums,
                          *context.replicas, statistics);
  if (!context.recomputing && !context.tape.recording()) {
    kept_.push_back({context.micro_batch, std::move(statistics)});
  }
  return y;
}

void BatchNorm::end_step(StepEnd& end) {
  const double n = rows_ * end.replicas;
  rows_ = 0.0;
  if (n == 0.0) return;
  // The moving variance is the unbiased estimate, as evaluation in other frameworks expects.
  Tensor mean = end.device.empty({channels_}, DType::F32, Purpose::Workspace);
  Tensor variance = end.device.empty({channels_}, DType::F32, Purpose::Workspace);
  end.device.norm().batch_norm_moments(mean, variance, sums_->value, n);
  // One at a time: a list of new addresses in every step would be uploaded in every step.
  const AverageTensors means{mean_->value, mean};
  const AverageTensors variances{variance_->value, variance};
  end.device.update().moving_average({&means, 1}, options_.decay);
  end.device.update().moving_average({&variances, 1}, options_.decay);
}

}  // namespace penstock
