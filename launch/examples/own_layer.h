// launch/examples/own_layer.h -- a layer of your own that owns two weights: x + up(tanh(down(x))),
// a bottleneck beside what passes on (Houlsby et al. 2019). Its test is own_layer_test.cpp.
#pragma once

#include <string>
#include <utility>

#include "launch/penstock.h"

class Bottleneck final : public penstock::UnaryLayer {  // [..., width] -> [..., width]
 public:
  Bottleneck(std::string name, int64_t width, int64_t inner)
      : UnaryLayer(std::move(name)), width_(width), inner_(inner) {}
  [[nodiscard]] std::string kind() const override { return "bottleneck"; }

  // The stage that holds the layer keeps the weights, each under a slot of the layer.
  void declare(penstock::ParameterSet& set) const override {
    set.add(down_, name() + ".down", {inner_, width_}, penstock::fan_in_normal(width_));
    set.add(up_, name() + ".up", {width_, inner_},
            {});  // zeros: at first the layer changes nothing
  }

 protected:
  [[nodiscard]] penstock::Shape shape_of(const penstock::Shape& input) const override {
    if (input.back() == width_) return input;
    misfit("expects [..., " + std::to_string(width_) + "] but is given " + input.text());
  }
  penstock::Variable run(penstock::Context& context, const penstock::Variable& x) const override {
    const penstock::Variable inner =
        linear(context.tape, x, context.parameter(down_), nullptr, penstock::Fused::Tanh);
    return add(context.tape, x, linear(context.tape, inner, context.parameter(up_), nullptr));
  }

 private:
  int64_t width_, inner_;
  penstock::Slot down_, up_;
};
