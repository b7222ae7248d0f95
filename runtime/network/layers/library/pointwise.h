// runtime/network/layers/library/pointwise.h -- layers that keep the shape of their input:
// ActivationLayer, Scale, and Dropout and DropPath, which set numbers to zero at random in
// training.
//
// A random number is a function of the seed, the layer's name, the step and, for Dropout, the
// micro-batch and the element's index in it, or, for DropPath, the sample's index in the
// mini-batch. So a recompute draws the same numbers, and they do not depend on how the network is
// cut into stages. What the overridden functions do is said in runtime/network/layers/layer.h. The
// constructors throw Error(Input), naming the layer, for a rate outside [0, 1).
#pragma once

#include "runtime/network/layers/layer.h"

namespace penstock {

// f(x), element by element.
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

// factor * x, element by element.
class Scale final : public UnaryLayer {
 public:
  Scale(std::string name, float factor) : UnaryLayer(std::move(name)), factor_(factor) {}
  [[nodiscard]] std::string kind() const override { return "scale"; }

 protected:
  Variable run(Context& context, const Variable& x) const override {
    return scale(context.tape, x, factor_);
  }

 private:
  float factor_;
};

// Dropout (Srivastava et al. 2014): each element becomes zero with probability `rate`, in [0, 1),
// the others are multiplied by 1 / (1 - rate). Off in evaluation.
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

// Stochastic depth (Huang et al. 2016; drop path in Zoph et al. 2018): each sample as a whole
// becomes zero with probability `rate`, else it is multiplied by 1 / (1 - rate). Off in evaluation.
// A sample's random number goes by its index in the mini-batch of all replicas, so that the result
// does not depend on how the mini-batch is cut into micro-batches.
class DropPath final : public UnaryLayer {
 public:
  struct Options {
    double rate = 0.0;  // in [0, 1)
    // The steps over which the rate grows linearly from 0 to `rate`; 0: it is `rate` at once.
    int64_t ramp_steps = 0;
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
