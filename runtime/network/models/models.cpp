#include "runtime/network/models/models.h"

#include <algorithm>

#include "runtime/network/models/adapters.h"

namespace penstock {
namespace {

bool all_positive(const std::vector<int64_t>& extents) {
  return std::all_of(extents.begin(), extents.end(), [](int64_t extent) { return extent > 0; });
}

Shape image_shape(const ModelConfig& config) {
  if (config.image.size() != 3 || !all_positive(config.image)) {
    fail_input("model.image must be [channels, height, width], for example [3, 32, 32]");
  }
  return {config.image[1], config.image[2], config.image[0]};
}

Shape features_shape(const ModelConfig& config) {
  // One axis of a Shape is left for the batch.
  if (config.input.size() >= Shape::kMaxRank || !all_positive(config.input)) {
    fail_input("model.input must be at most " + std::to_string(Shape::kMaxRank - 1) +
               " positive extents, for example [20]");
  }
  return Shape(std::span<const int64_t>(config.input));
}

bool starts_with_embedding(const ModelConfig& config) {
  return !config.sequence.empty() && config.sequence[0].kind == "embedding";
}

bool is_amoebanet(const ModelConfig& config) {
  return config.kind == "amoebanet-d" || config.kind == "amoebanet-b";
}

// Returns whether the network takes images and nothing else.
bool takes_images(const ModelConfig& config) {
  return is_amoebanet(config) || config.kind == "resnet" || config.kind == "unet";
}

void check_per_pixel(const ModelConfig& config) {
  const bool can = config.kind == "unet" || config.kind == "sequential";
  if (!config.per_pixel || (can && input_of(config).label_per_pixel)) return;
  fail_input(
      "model.per_pixel is for the kinds unet and sequential, and for images: the network of "
      "model.kind = \"" +
      config.kind + "\" tells no class for each pixel");
}

}  // namespace

ModelInput input_of(const ModelConfig& config) {
  if (config.kind == "transformer-nmt") {
    return {"source_tokens", {config.context}, DType::I32, true};
  }
  if (config.kind == "transformer-lm" || config.kind == "decoder" ||
      (config.kind == "sequential" && starts_with_embedding(config))) {
    return {"tokens", {config.context}, DType::I32, true};
  }
  if (!takes_images(config) && !config.input.empty()) {
    return {"inputs", features_shape(config), DType::F32, false};
  }
  return {"images", image_shape(config), DType::F32, false, config.per_pixel};
}

Shape label_shape(const ModelInput& input) {
  if (input.label_per_position) return input.shape;
  if (input.label_per_pixel) return {input.shape[0], input.shape[1]};
  return {};
}

CrossEntropyOptions loss_of(const ModelConfig& config) {
  return {.label_smoothing = static_cast<float>(config.label_smoothing),
          .clip = static_cast<float>(config.logit_clip),
          .z = static_cast<float>(config.logit_z_loss)};
}

Sequential build_model(const ModelConfig& config, int64_t vocabulary, int64_t classes) {
  check_adapters(config);
  check_per_pixel(config);
  const int64_t tokens = config.vocabulary > 0 ? config.vocabulary : vocabulary;
  const int64_t labels = config.classes > 0 ? config.classes : classes;
  if ((takes_images(config) || config.kind == "mlp") && labels < 2) {
    fail_input("model.classes is not known from the data: give it, at least 2");
  }
  Sequential model;
  if (config.kind == "transformer-lm" || config.kind == "decoder") {
    model = decoder(config, tokens);
  } else if (config.kind == "transformer-nmt") {
    model = transformer_nmt(config, tokens);
  } else if (is_amoebanet(config)) {
    model = amoebanet(config, labels);
  } else if (config.kind == "resnet") {
    model = resnet(config, labels);
  } else if (config.kind == "unet") {
    model = unet(config, labels);
  } else if (config.kind == "mlp") {
    model = mlp(config, labels);
  } else if (config.kind == "sequential") {
    model = sequential(config, tokens, labels);
  } else if (config.kind == "own") {
    fail_input(
        "model.kind is own, but this program brings no network of its own: see "
        "launch/examples/own_network.cpp");
  } else {
    fail_input(
        "unknown model.kind '" + config.kind +
        "'; known are transformer-lm, decoder, transformer-nmt, amoebanet-d, amoebanet-b, resnet, "
        "unet, mlp and "
        "sequential");
  }
  model.inputs = {input_of(config).field};
  return model;
}

std::string with_section_named(const ModelConfig& config, const std::string& what) {
  const std::string first = config.said_in.substr(0, config.said_in.find(", "));
  return what.starts_with(first) ? what : config.said_in + ": " + what;
}

namespace {

ModelMaker naming(const ModelMaker& models) {
  ModelMaker all;
  all.input = [models](const ModelConfig& config) {
    return naming_section(config, [&] { return models.input(config); });
  };
  all.build = [models](const ModelConfig& config, int64_t vocabulary, int64_t classes) {
    return naming_section(config, [&] { return models.build(config, vocabulary, classes); });
  };
  return all;
}

}  // namespace

ModelMaker built_in_models() {
  return naming({input_of, build_model});
}

ModelMaker with_own_model(const ModelMaker& own) {
  ModelMaker both;
  both.input = [own](const ModelConfig& config) {
    return config.kind == "own" ? own.input(config) : input_of(config);
  };
  both.build = [own](const ModelConfig& config, int64_t vocabulary, int64_t classes) {
    if (config.kind != "own") return build_model(config, vocabulary, classes);
    check_adapters(config);
    Sequential model = own.build(config, vocabulary, classes);
    model.inputs = {own.input(config).field};
    return model;
  };
  return naming(both);
}

}  // namespace penstock
