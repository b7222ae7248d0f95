// A decoder-only Transformer language model: the layout of GPipe's Transformer-L, which reproduces
// the parameter counts of the paper's Table 1 (embedding, L pre-norm blocks, separate softmax
// matrix). A tied softmax matrix, GELU, learned positions, missing biases and a final norm are
// options.
#include <cmath>

#include "runtime/layers/attention.h"
#include "runtime/layers/container.h"
#include "runtime/layers/embedding.h"
#include "runtime/layers/loss.h"
#include "runtime/layers/norm.h"
#include "runtime/layers/pointwise.h"
#include "runtime/models/models.h"

namespace penstock {
namespace {

struct Widths {
  int64_t width, hidden;
};

Layers one_branch(const std::string& name, int64_t width, const std::string& norm,
                  std::unique_ptr<Layer> body, double dropout) {
  Layers branch;
  branch.push_back(std::make_unique<LayerNorm>(name + "." + norm, width));
  const std::string body_name = body->name();
  branch.push_back(std::move(body));
  if (dropout > 0.0) branch.push_back(std::make_unique<Dropout>(body_name + ".dropout", dropout));
  return branch;
}

std::unique_ptr<Layer> block(const ModelConfig& config, const Widths& widths, int64_t index) {
  const std::string name = "blocks." + std::to_string(index);
  // Two residual additions per block: their sum keeps unit variance when each is scaled down.
  const double residual = 1.0 / std::sqrt(2.0 * static_cast<double>(config.layers));
  const double deep =
      config.depth_scaled_init ? 1.0 / std::sqrt(static_cast<double>(config.layers)) : 1.0;
  Layers layers;
  layers.push_back(std::make_unique<Residual>(
      name + ".residual1",
      one_branch(name, widths.width, "norm1",
                 std::make_unique<SelfAttention>(
                     name + ".attention", SelfAttention::Options{.width = widths.width,
                                                                 .heads = config.heads,
                                                                 .causal = true,
                                                                 .bias = config.attention_bias,
                                                                 .dropout = config.dropout,
                                                                 .out_init_factor = residual}),
                 config.dropout)));
  const auto activation = activation_named(config.activation);
  if (!activation) fail_input("model.activation must not be none in a transformer-lm");
  layers.push_back(std::make_unique<Residual>(
      name + ".residual2", one_branch(name, widths.width, "norm2",
                                      std::make_unique<FeedForward>(
                                          name + ".feed_forward",
                                          FeedForward::Options{.width = widths.width,
                                                               .hidden = widths.hidden,
                                                               .bias = config.bias,
                                                               .activation = *activation,
                                                               .in_init_factor = deep,
                                                               .out_init_factor = deep * residual}),
                                      config.dropout)));
  return std::make_unique<Group>(name, "transformer-block", std::move(layers));
}

Embedding::Positions positions_of(const ModelConfig& config) {
  if (config.positions == "learned") return Embedding::Positions::Learned;
  if (config.positions == "sinusoidal") return Embedding::Positions::Sinusoidal;
  if (config.positions == "none") return Embedding::Positions::None;
  fail_input("unknown model.positions '" + config.positions +
             "'; known are sinusoidal, learned and none");
}

}  // namespace

Sequential transformer_lm(const ModelConfig& config, int64_t vocabulary) {
  if (vocabulary < 2) fail_input("model.vocabulary is not known from the data: give it");
  Widths widths{};
  widths.width = config.width > 0 ? config.width : 128;
  widths.hidden = config.hidden > 0 ? config.hidden : 4 * widths.width;

  Embedding::Options table = {.vocabulary = vocabulary,
                              .width = widths.width,
                              .context = config.context,
                              .positions = positions_of(config)};
  std::optional<SharedWeight> shared;
  if (config.tied_embedding) {
    table.shared = "embedding.token.weight";
    shared = SharedWeight{table.shared, Embedding::table_initializer(table)};
  }

  Sequential model;
  Layers front;
  front.push_back(std::make_unique<Embedding>("embedding", table));
  if (config.dropout > 0.0) {
    front.push_back(std::make_unique<Dropout>("embedding.dropout", config.dropout));
  }
  model.layers.push_back(std::make_unique<Group>("embedding", "embedding", std::move(front)));
  for (int64_t i = 0; i < config.layers; ++i) model.layers.push_back(block(config, widths, i));
  if (config.final_norm) {
    model.layers.push_back(std::make_unique<LayerNorm>("norm", widths.width));
  }
  model.layers.push_back(std::make_unique<ClassifierLoss>(
      "classifier", ClassifierLoss::Options{
                        .width = widths.width,
                        .classes = vocabulary,
                        .bias = config.bias,
                        .labels = "labels",
                        .loss = {.label_smoothing = static_cast<float>(config.label_smoothing),
                                 .clip = static_cast<float>(config.logit_clip)},
                        .shared = shared}));
  return model;
}

}  // namespace penstock
