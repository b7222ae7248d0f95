// runtime/network/layers/library/pointwise.h -- ActivationLayer and the random layers Dropout and
// DropPath, which keep shapes.
#pragma once

#include "runtime/network/layers/layer.h"

namespace penstock {

class ActivationLayer final : public UnaryLayer {
 public:
  ActivationLayer(std::string name, Activation f) : UnaryLayer(std::move(name)), f_(f) {}
  [[nodiscard]] std::string kind() const override { return "activation"; }

 protected:
  Variable run(Context& context, const Variable& x) const override {
    return activation(context.tape, x, f_);
  }

 private:
  Activation f_;
};

// Dropout (Srivastava et al. 2014): elements become zero with probability `rate`, the others are
// scaled by 1 / (1 - rate). Off in evaluation. The mask is a function of (seed, name, step,
// micro-batch, element), so a recompute draws it again.
class Dropout final : public UnaryLayer {
 public:
  Dropout(std::string name, double rate);
  [[nodiscard]] std::string kind() const override { return "dropout"; }

 protected:
  Variable run(Context& context, const Variable& x) const override;

 private:
  float rate_;
  uint64_t name_hash_;
};

// Stochastic depth (Huang et al. 2016; drop path in Zoph et al. 2018): a sample as a whole becomes
// zero with probability `rate`, else is scaled by 1 / (1 - rate). Random numbers go by the sample's
// index in the mini-batch of all replicas, so the cut into micro-batches changes nothing. Off in
// evaluation.
class DropPath final : public UnaryLayer {
 public:
  struct Options {
    double rate = 0.0;
    int64_t ramp_steps = 0;  // the rate grows linearly from 0 and is reached at this step
  };
  DropPath(std::string name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "drop-path"; }

 protected:
  Variable run(Context& context, const Variable& x) const override;

 private:
  Options options_;
  uint64_t name_hash_;
};

}  // namespace penstock
