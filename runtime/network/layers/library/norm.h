// runtime/network/layers/library/norm.h -- the normalising layers: layer norm, RMS norm and batch
// norm. Each has a parameter `weight` (the scale, gamma) and, except RMS norm and layer norms that
// are made without, `bias` (the shift, beta), each [width] or [channels]. The output has the shape
// of the input. `epsilon` is added to the variance, or mean square, before the root is taken. What
// the overridden functions do is said in runtime/network/layers/layer.h.
#pragma once

#include "runtime/network/layers/layer.h"

namespace penstock {

// Layer norm over the last axis (Ba et al. 2016).
class LayerNorm final : public UnaryLayer {
 public:
  LayerNorm(std::string name, int64_t width, float epsilon = 1e-5F, bool bias = true);
  [[nodiscard]] std::string kind() const override { return "layer-norm"; }
  void declare(ParameterSet& set) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  int64_t width_;
  float epsilon_;
  bool bias_;
  Slot gamma_, beta_;  // beta_ only with bias_
};

// RMS norm over the last axis, which subtracts no mean (Zhang and Sennrich 2019).
class RmsNorm final : public UnaryLayer {
 public:
  // `zero_centered`: the scale is 1 + weight, and the weight starts at 0 (Gemma); else it is the
  // weight, which starts at 1.
  RmsNorm(std::string name, int64_t width, float epsilon, bool zero_centered = false);
  [[nodiscard]] std::string kind() const override { return "rms-norm"; }
  void declare(ParameterSet& set) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  int64_t width_;
  float epsilon_;
  bool zero_centered_;
  Slot gamma_;
};

// Batch norm over all axes but the last (the channels). Training normalises each micro-batch by its
// own mean and variance; where Pass::replicas is set, micro-batch m of every replica is normalised
// by the mean and variance of all these micro-batches m together. Evaluation normalises by moving
// averages (buffers `running_mean` and `running_var`), which end_step() updates once per step from
// the sums over the whole mini-batch of all replicas (GPipe, section 2.2). A recompute adds nothing
// to these sums. A layer whose weight and bias are both frozen normalises by its moving averages in
// training too, and does not change them.
class BatchNorm final : public UnaryLayer {
 public:
  struct Options {
    float epsilon = 1e-5F;  // added to the variance
    float decay = 0.9F;     // moving = decay * moving + (1 - decay) * mini-batch
  };
  BatchNorm(std::string name, int64_t channels, const Options& options);
  [[nodiscard]] std::string kind() const override { return "batch-norm"; }
  void declare(ParameterSet& set) const override;
  void end_step(const StepEnd& end) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Variable over_replicas(Context& context, const Variable& x, Tensor& sums) const;

  int64_t channels_;
  Options options_;
  Slot gamma_, beta_, mean_, variance_;
  Slot sums_;  // step sums of x and x^2, [kNormSums, channels] (kernels/ops/norm_sums.h)
};

}  // namespace penstock
