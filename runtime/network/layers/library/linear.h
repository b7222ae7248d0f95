// runtime/network/layers/library/linear.h -- fully connected layers: Linear, and the Transformer's
// FeedForward and GatedFeedForward, which are made of two and three of it.
//
// Each works on the last axis of its input, whatever the other axes are. Optionally a linear layer
// shares its weight with another layer (tied weights), or has an adapter (LoRA, adapter.h). What
// the overridden functions do is said in runtime/network/layers/layer.h. The constructors throw
// Error(Input), naming the layer, for widths below 1 and for an adapter whose options make no
// sense.
#pragma once

#include <optional>

#include "runtime/network/layers/adapter.h"
#include "runtime/network/layers/layer.h"

namespace penstock {

// The activation called "relu", "gelu", "gelu-tanh", "silu" or "tanh"; nullopt for "none". Throws
// Error(Input) for other names, listing these.
[[nodiscard]] std::optional<Activation> activation_named(const std::string& name);

// Normal initial values with the standard deviation factor * sqrt(1 / (3 fan_in)). With factor 1
// that is the variance of PyTorch's default for linear layers and, at a width of 768, the 0.02 of
// GPT-2. `fan_in`: inputs of the layer.
[[nodiscard]] Initializer fan_in_normal(int64_t fan_in, double factor = 1.0);

// A weight that other layers hold too (tied weights): the parameter's full name, and its initial
// values, which must be the same in all of these layers (ParameterSet::share()).
struct SharedWeight {
  std::string name;
  Initializer init;
};

// y = f(x W^T + b + what the adapter adds), [..., in] -> [..., out]. Parameters `weight` (W, [out,
// in]) and, unless it is switched off, `bias` (b, [out]).
class Linear final : public UnaryLayer {
 public:
  struct Options {
    int64_t in = 0, out = 0;
    bool bias = true;
    std::optional<Activation> activation = std::nullopt;  // f; nullopt: none
    double init_factor = 1.0;  // of fan_in_normal(), for the initial weights
    std::optional<SharedWeight> shared = std::nullopt;     // nullopt: its own weight
    std::optional<AdapterOptions> adapter = std::nullopt;  // nullopt: none
  };
  Linear(std::string name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "linear"; }
  void declare(ParameterSet& set) const override;
  // The slots of its parameters, for a layer that is made of linear layers and calls functions on
  // their weights itself. bias() is declared only with Options::bias.
  [[nodiscard]] const Slot& weight() const { return weight_; }
  [[nodiscard]] const Slot& bias() const { return bias_; }

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Options options_;
  Slot weight_, bias_;
  std::optional<Adapter> adapter_;
};

// out(f(in(x))): the linear layer `in` takes [..., width] to [..., hidden], the linear layer `out`
// takes that back to [..., width] (Vaswani et al. 2017, 3.3). Parameters "in.weight", "in.bias",
// "out.weight" and "out.bias".
class FeedForward final : public UnaryLayer {
 public:
  struct Options {
    int64_t width = 0, hidden = 0;
    bool bias = true;                                    // of all its linear layers
    Activation activation = Activation::Relu;            // f
    double in_init_factor = 1.0, out_init_factor = 1.0;  // Linear::Options::init_factor of each
    AdaptedParts adapted = {};  // those of in, out and, if gated, gate that have adapters
  };
  FeedForward(const std::string& name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "feed-forward"; }
  void declare(ParameterSet& set) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Activation activation_;
  bool adapted_;
  Linear in_, out_;
};

// The gated form, out(f(gate(x)) * in(x)), such as SwiGLU (Shazeer 2020): a third linear layer
// `gate` of the same shape as `in`.
class GatedFeedForward final : public UnaryLayer {
 public:
  using Options = FeedForward::Options;
  GatedFeedForward(const std::string& name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "gated-feed-forward"; }
  void declare(ParameterSet& set) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Activation activation_;
  Linear gate_, in_, out_;
};

}  // namespace penstock
