// runtime/network/layers/library/linear.h -- Linear, and the Transformer's FeedForward and
// GatedFeedForward.
#pragma once

#include <optional>

#include "runtime/network/layers/adapter.h"
#include "runtime/network/layers/layer.h"

namespace penstock {

// The activation called "relu", "gelu", "gelu-tanh", "silu" or "tanh"; nullopt for "none". Throws
// Error(Input) for other names, listing these.
[[nodiscard]] std::optional<Activation> activation_named(const std::string& name);

// Normal initial values of the standard deviation factor x sqrt(1 / (3 fan_in)), which keeps a deep
// network's signal level: PyTorch's default has this variance and, at width 768, GPT-2's 0.02.
[[nodiscard]] Initializer fan_in_normal(int64_t fan_in, double factor = 1.0);

// A weight that other layers hold too, under this name (ParameterSet::share).
struct SharedWeight {
  std::string name;
  Initializer init;
};

// y = f(x W^T + b) over the last axis; what an adapter adds is inside f. Parameters `weight` [out,
// in] and `bias`.
class Linear final : public UnaryLayer {
 public:
  struct Options {
    int64_t in = 0, out = 0;
    bool bias = true;
    std::optional<Activation> activation = std::nullopt;
    double init_factor = 1.0;  // multiplies the standard deviation of the initial weights
    std::optional<SharedWeight> shared = std::nullopt;     // nullopt: its own weight
    std::optional<AdapterOptions> adapter = std::nullopt;  // nullopt: none
  };
  Linear(std::string name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "linear"; }
  void declare(ParameterSet& set) const override;
  [[nodiscard]] const Slot& weight() const { return weight_; }
  [[nodiscard]] const Slot& bias() const { return bias_; }  // declared only with Options::bias

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Options options_;
  Slot weight_, bias_;
  std::optional<Adapter> adapter_;
};

// [..., width] -> [..., hidden], activation, -> [..., width] (Vaswani et al. 2017, 3.3): parameters
// `in` and `out`.
class FeedForward final : public UnaryLayer {
 public:
  struct Options {
    int64_t width = 0, hidden = 0;
    bool bias = true;
    Activation activation = Activation::Relu;
    double in_init_factor = 1.0, out_init_factor = 1.0;  // of the initial standard deviations
    AdaptedParts adapted = {};                           // of in, out and, if gated, gate
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

// The gated form, out(f(gate(x)) in(x)) (Shazeer 2020): parameters `gate`, `in` and `out`.
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
