#include "runtime/planning/plan/profile.h"

#include <stdexcept>

namespace penstock {
namespace {

void check_same(const LayerCost& layer, const LayerCost& profiled) {
  if (layer.name == profiled.name && layer.parameters == profiled.parameters) return;
  throw std::invalid_argument("the profile is of another network: where this one has the layer '" +
                              layer.name + "' of " + std::to_string(layer.parameters) +
                              " parameters, it has '" + profiled.name + "' of " +
                              std::to_string(profiled.parameters));
}

void check_same(const ModelCosts& model, const ModelCosts& profiled) {
  if (model.layers.size() != profiled.layers.size()) {
    throw std::invalid_argument("the profile is of another network: it has " +
                                std::to_string(profiled.layers.size()) + " layers, this one " +
                                std::to_string(model.layers.size()));
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    check_same(model.layers[i], profiled.layers[i]);
  }
}

// A time that was counted as nothing says nothing about its rate.
double scaled(double counted, double counted_at_profile, double measured) {
  return counted_at_profile > 0.0 ? measured * (counted / counted_at_profile) : measured;
}

}  // namespace

ModelCosts calibrated(ModelCosts counted, const ModelCosts& counted_at_profile,
                      const ModelCosts& measured) {
  check_same(counted, counted_at_profile);
  check_same(counted, measured);
  constexpr double LayerCost::*kTimes[] = {&LayerCost::forward_s, &LayerCost::backward_input_s,
                                           &LayerCost::backward_weight_s, &LayerCost::backward_s,
                                           &LayerCost::update_s};
  for (size_t i = 0; i < counted.layers.size(); ++i) {
    for (double LayerCost::*time : kTimes) {
      counted.layers[i].*time = scaled(counted.layers[i].*time, counted_at_profile.layers[i].*time,
                                       measured.layers[i].*time);
    }
  }
  counted.device = measured.device;
  return counted;
}

}  // namespace penstock
