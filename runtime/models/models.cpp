#include "runtime/models/models.h"

namespace penstock {
namespace {

Shape image_shape(const ModelConfig& config) {
  if (config.image.size() != 3) {
    fail_input("model.image must be [channels, height, width], for example [3, 32, 32]");
  }
  return {config.image[1], config.image[2], config.image[0]};
}

bool starts_with_embedding(const ModelConfig& config) {
  return !config.sequence.empty() && config.sequence[0].kind == "embedding";
}

}  // namespace

ModelInput input_of(const ModelConfig& config) {
  if (config.kind == "transformer-lm" ||
      (config.kind == "sequential" && starts_with_embedding(config))) {
    return {"tokens", {config.context}, DType::I32, true};
  }
  if (config.kind != "resnet" && !config.input.empty()) {
    return {"inputs", Shape(std::span<const int64_t>(config.input)), DType::F32, false};
  }
  return {"images", image_shape(config), DType::F32, false};
}

Sequential build_model(const ModelConfig& config, int64_t vocabulary, int64_t classes) {
  const int64_t tokens = config.vocabulary > 0 ? config.vocabulary : vocabulary;
  const int64_t labels = config.classes > 0 ? config.classes : classes;
  Sequential model;
  if (config.kind == "transformer-lm") {
    model = transformer_lm(config, tokens);
  } else if (config.kind == "resnet") {
    model = resnet(config, labels);
  } else if (config.kind == "mlp") {
    model = mlp(config, labels);
  } else if (config.kind == "sequential") {
    model = sequential(config, tokens, labels);
  } else if (config.kind == "own") {
    fail_input(
        "model.kind is own, but this program brings no network of its own: see "
        "launch/examples/own_network.cpp");
  } else {
    fail_input("unknown model.kind '" + config.kind +
               "'; known are transformer-lm, resnet, mlp and sequential");
  }
  model.inputs = {input_of(config).field};
  return model;
}

ModelMaker built_in_models() {
  return {input_of, build_model};
}

ModelMaker with_own_model(ModelMaker own) {
  ModelMaker both;
  both.input = [own](const ModelConfig& config) {
    return config.kind == "own" ? own.input(config) : input_of(config);
  };
  both.build = [own](const ModelConfig& config, int64_t vocabulary, int64_t classes) {
    if (config.kind != "own") return build_model(config, vocabulary, classes);
    Sequential model = own.build(config, vocabulary, classes);
    model.inputs = {own.input(config).field};
    return model;
  };
  return both;
}

}  // namespace penstock
