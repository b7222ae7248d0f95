// tests/unit/network/models/configs.h -- the configurations of small networks of many kinds.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/network/models/models.h"

namespace penstock {

using Options = std::map<std::string, LayerConfig::Value>;

// An entry of a layer list.
[[nodiscard]] inline LayerConfig entry(const std::string& kind, const Options& options = {},
                                       const std::vector<LayerConfig>& layers = {},
                                       const std::vector<LayerConfig>& shortcut = {}) {
  LayerConfig config;
  config.kind = kind;
  config.options = options;
  config.layers = layers;
  config.shortcut = shortcut;
  return config;
}

// What the layers of a network declare, without allocating a weight.
[[nodiscard]] inline ParameterSet declared(const ModelConfig& config) {
  const Sequential model = build_model(config, 0, 0);
  ParameterSet set;
  for (const auto& layer : model.layers) layer->declare(set);
  return set;
}

// The number of its parameters.
[[nodiscard]] inline int64_t count(const ModelConfig& config) {
  return declared(config).declared().elements();
}

// GPipe, Table 1: V 32000, d 2048, ff 8192, 32 heads, T 1024.
[[nodiscard]] inline ModelConfig transformer_l(int64_t layers, bool attention_bias) {
  ModelConfig config;
  config.kind = "transformer-lm";
  config.layers = layers;
  config.width = 2048;
  config.hidden = 8192;
  config.heads = 32;
  config.context = 1024;
  config.vocabulary = 32000;
  config.attention_bias = attention_bias;
  config.final_norm = false;
  return config;
}

[[nodiscard]] inline ModelConfig transformer_config() {
  ModelConfig config;
  config.kind = "transformer-lm";
  config.layers = 2;
  config.width = 16;
  config.heads = 2;
  config.context = 8;
  config.vocabulary = 11;
  config.activation = "gelu";
  return config;
}

[[nodiscard]] inline ModelConfig resnet_config(const std::string& form, int64_t depth) {
  ModelConfig config;
  config.kind = "resnet";
  config.form = form;
  config.depth = depth;
  config.width = 4;
  config.image = {3, 16, 16};
  config.classes = 5;
  return config;
}

// An AmoebaNet of small images with every option it can have.
[[nodiscard]] inline ModelConfig amoebanet_config(const std::string& kind,
                                                  const std::string& stem) {
  ModelConfig config;
  config.kind = kind;
  config.layers = 3;
  config.filters = 8;
  config.stem = stem;
  config.auxiliary_weight = 0.4;
  config.drop_path = 0.3;
  config.image = {3, 12, 12};
  config.classes = 5;
  return config;
}

[[nodiscard]] inline ModelConfig unet_config() {
  ModelConfig config;
  config.kind = "unet";
  config.layers = 2;
  config.filters = 4;
  config.image = {3, 8, 12};
  config.classes = 5;
  return config;
}

// A class for each pixel.
[[nodiscard]] inline ModelConfig pixel_unet_config() {
  ModelConfig config = unet_config();
  config.per_pixel = true;
  return config;
}

[[nodiscard]] inline ModelConfig mlp_config() {
  ModelConfig config;
  config.kind = "mlp";
  config.input = {12};
  config.hidden_layers = {16, 8};
  config.activation = "tanh";
  config.classes = 5;
  return config;
}

[[nodiscard]] inline ModelConfig image_sequence(const std::vector<LayerConfig>& layers) {
  ModelConfig config;
  config.kind = "sequential";
  config.image = {2, 8, 8};
  config.classes = 5;
  config.sequence = layers;
  return config;
}

[[nodiscard]] inline ModelConfig token_sequence(const std::vector<LayerConfig>& layers) {
  ModelConfig config;
  config.kind = "sequential";
  config.context = 8;
  config.vocabulary = 11;
  config.sequence = layers;
  return config;
}

// Two layer lists: with every kind of layer that takes images, and with every kind that takes
// tokens.
[[nodiscard]] inline ModelConfig all_image_kinds() {
  const std::vector<LayerConfig> branch = {
      entry("conv2d", {{"channels", int64_t{6}}, {"stride", int64_t{2}}}),
      entry("batch-norm", {{"decay", 0.5}}), entry("silu")};
  const std::vector<LayerConfig> shortcut = {
      entry("average-pool"), entry("conv2d", {{"channels", int64_t{6}}, {"kernel", int64_t{1}}})};
  return image_sequence(
      {entry("conv2d", {{"channels", int64_t{4}},
                        {"kernel", std::vector<int64_t>{3, 5}},
                        {"activation", std::string("relu")},
                        {"groups", int64_t{2}}}),
       entry("max-pool", {{"kernel", int64_t{3}}, {"stride", int64_t{1}}}),
       entry("residual", {{"activation", std::string("tanh")}}, branch, shortcut),
       entry("group", {}, {entry("gelu"), entry("gelu-tanh"), entry("relu"), entry("tanh")}),
       entry("residual", {}, {entry("conv2d", {{"channels", int64_t{6}}, {"bias", false}})}),
       entry("dropout", {{"rate", 0.1}}), entry("flatten"),
       entry("linear", {{"width", int64_t{8}}, {"activation", std::string("gelu")}})});
}
// With every kind that makes images larger, for a class for each pixel.
[[nodiscard]] inline ModelConfig all_enlarging_kinds() {
  ModelConfig config = image_sequence(
      {entry("stash", {{"skip", std::string("image")}}),
       entry("conv2d", {{"channels", int64_t{4}}, {"stride", int64_t{2}}}), entry("tanh"),
       entry("conv2d", {{"channels", int64_t{6}}, {"stride", int64_t{2}}}), entry("tanh"),
       entry("conv2d-transpose", {{"channels", int64_t{4}},
                                  {"kernel", std::vector<int64_t>{3, 2}},
                                  {"padding", std::vector<int64_t>{1, 0}},
                                  {"output_padding", std::vector<int64_t>{1, 0}},
                                  {"groups", int64_t{2}}}),
       entry("upsample", {{"mode", std::string("bilinear")}, {"align_corners", true}}),
       entry("pop", {{"skip", std::string("image")}}), entry("conv2d", {{"channels", int64_t{6}}}),
       entry("tanh")});
  config.per_pixel = true;
  return config;
}
[[nodiscard]] inline ModelConfig all_token_kinds() {
  return token_sequence(
      {entry("embedding", {{"width", int64_t{16}}, {"positions", std::string("learned")}}),
       entry("residual", {},
             {entry("layer-norm", {{"epsilon", 1e-3}}),
              entry("self-attention", {{"heads", int64_t{2}}, {"dropout", 0.1}})}),
       entry("residual", {},
             {entry("layer-norm"), entry("feed-forward", {{"activation", std::string("silu")}})}),
       entry("residual", {},
             {entry("layer-norm"),
              entry("experts", {{"experts", int64_t{3}},
                                {"experts_per_token", int64_t{3}},  // a choice is no kink then
                                {"shared_expert_width", int64_t{8}}})}),
       entry("classifier", {{"bias", false}})});
}

// The message of the Error(Input) that `action` throws; "nothing was thrown" where it throws none.
[[nodiscard]] inline std::string input_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace penstock
