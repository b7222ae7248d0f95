// runtime/network/layers/container.h -- Group and Residual: layers that are made of other layers,
// such as the two halves of a Transformer block.
//
// Outside they are one layer each: a stage boundary (docs/concepts.md) never falls inside, and a
// skip (skip.h) neither begins nor ends inside. What the overridden functions do is said in
// layer.h.
#pragma once

#include <optional>

#include "runtime/network/layers/layer.h"

namespace penstock {

// The layers one after another. `kind` is what kind() returns; no layers: the identity.
class Group final : public Layer {
 public:
  Group(std::string name, std::string kind, Layers layers)
      : Layer(std::move(name)), kind_(std::move(kind)), layers_(std::move(layers)) {}
  [[nodiscard]] std::string kind() const override { return kind_; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  void declare(ParameterSet& set) const override;
  Variables forward(Context& context, const Variables& inputs) const override;
  [[nodiscard]] std::vector<std::string> reads() const override;
  [[nodiscard]] std::string targets() const override;
  void end_step(const StepEnd& end) const override;
  [[nodiscard]] int64_t past_width() const override;

 private:
  std::string kind_;
  Layers layers_;
};

// y = f(shortcut(x) + branch(x)) (He et al. 2016), where branch and shortcut are layers one after
// another. An empty shortcut is the identity; f nullopt: no activation.
class Residual final : public Layer {
 public:
  Residual(const std::string& name, Layers branch, Layers shortcut = {},
           std::optional<Activation> f = std::nullopt);
  [[nodiscard]] std::string kind() const override { return "residual"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  void declare(ParameterSet& set) const override;
  Variables forward(Context& context, const Variables& inputs) const override;
  [[nodiscard]] std::vector<std::string> reads() const override;
  void end_step(const StepEnd& end) const override;
  [[nodiscard]] int64_t past_width() const override {
    return branch_.past_width() + shortcut_.past_width();
  }

 private:
  Group branch_, shortcut_;
  std::optional<Activation> f_;
};

}  // namespace penstock
