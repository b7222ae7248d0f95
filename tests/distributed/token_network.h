// tests/distributed/token_network.h -- a small network of model.kind = "own", for tests of parts of
// training.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/network/layers/library/embedding.h"
#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/models/models.h"

namespace penstock {

inline constexpr int64_t kContext = 5;
inline constexpr int64_t kVocabulary = 11;

// Models with a network over tokens as model.kind = "own". The targets of its loss are the batch
// field `field`: with "labels" it predicts the token after each, with "tokens" it is an
// autoencoder. `with_head`: it has an auxiliary loss of weight 0.5 after the first of its two
// hidden layers.
[[nodiscard]] inline ModelMaker compares_with(const std::string& field, bool with_head = false) {
  const auto input = [](const ModelConfig&) {
    return ModelInput{"tokens", {kContext}, DType::I32, true};
  };
  const auto build = [field, with_head](const ModelConfig&, int64_t, int64_t) {
    Sequential model;
    model.inputs = {"tokens"};
    model.layers.push_back(std::make_unique<Embedding>(
        "embedding",
        Embedding::Options{.vocabulary = kVocabulary, .width = 6, .context = kContext}));
    const auto add = [](Layers& layers, const std::string& name) {
      layers.push_back(std::make_unique<Linear>(
          name, Linear::Options{.in = 6, .out = 6, .activation = Activation::Tanh}));
    };
    const auto add_loss = [&](Layers& layers, const std::string& name) {
      layers.push_back(std::make_unique<ClassifierLoss>(
          name, ClassifierLoss::Options{.width = 6, .classes = kVocabulary, .labels = field}));
    };
    add(model.layers, "first");
    if (with_head) {
      Layers branch;
      add_loss(branch, "head.loss");
      model.layers.push_back(std::make_unique<AuxiliaryLoss>("head", std::move(branch), 0.5));
    }
    add(model.layers, "second");
    add_loss(model.layers, "loss");
    return model;
  };
  return with_own_model({input, build});
}

}  // namespace penstock
