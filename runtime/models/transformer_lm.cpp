// A decoder-only Transformer language model: the layout of GPipe's Transformer-L, which reproduces
// the parameter counts of the paper's Table 1 (embedding, L pre-norm blocks, separate softmax
// matrix). A tied softmax matrix, GELU, learned positions, missing biases and a final norm are
// options.
#include "runtime/layers/library/norm.h"
#include "runtime/models/models.h"
#include "runtime/models/transformer_parts.h"

namespace penstock {
namespace {

std::unique_ptr<Layer> block(const ModelConfig& config, int64_t index) {
  const std::string name = "blocks." + std::to_string(index);
  const DepthFactors factors = depth_factors(config, config.layers, 2);
  Layers layers;
  layers.push_back(self_attention_part(config, name, true, "", factors));
  layers.push_back(feed_forward_part(config, name, 2, factors));
  return std::make_unique<Group>(name, "transformer-block", std::move(layers));
}

}  // namespace

Sequential transformer_lm(const ModelConfig& config, int64_t vocabulary) {
  Sequential model;
  model.layers.push_back(embedding_part(config, "embedding", vocabulary));
  for (int64_t i = 0; i < config.layers; ++i) model.layers.push_back(block(config, i));
  if (config.final_norm) {
    model.layers.push_back(std::make_unique<LayerNorm>("norm", widths_of(config).width));
  }
  model.layers.push_back(classifier_part(config, vocabulary));
  return model;
}

}  // namespace penstock
