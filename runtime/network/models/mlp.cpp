// A multi-layer perceptron: flatten, hidden layers, classifier. The smallest network worth a
// pipeline.
#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/layers/library/pointwise.h"
#include "runtime/network/models/models.h"

namespace penstock {

Sequential mlp(const ModelConfig& config, int64_t classes) {
  std::vector<int64_t> widths = config.hidden_layers;
  if (widths.empty()) {
    const int64_t width = config.hidden > 0 ? config.hidden : 128;
    widths.assign(static_cast<size_t>(config.layers), width);
  }
  Sequential model;
  int64_t in = input_of(config).shape.elements();
  model.layers.push_back(std::make_unique<Flatten>("flatten"));
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string name = "hidden." + std::to_string(i);
    model.layers.push_back(std::make_unique<Linear>(
        name, Linear::Options{.in = in,
                              .out = widths[i],
                              .bias = config.bias,
                              .activation = activation_named(config.activation)}));
    if (config.dropout > 0.0) {
      model.layers.push_back(std::make_unique<Dropout>(name + ".dropout", config.dropout));
    }
    in = widths[i];
  }
  model.layers.push_back(std::make_unique<ClassifierLoss>(
      "classifier",
      ClassifierLoss::Options{
          .width = in, .classes = classes, .bias = config.bias, .loss = loss_of(config)}));
  return model;
}

}  // namespace penstock
