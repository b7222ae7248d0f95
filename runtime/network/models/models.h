// runtime/network/models/models.h -- builds the Sequential of layers that the [model] section of a
// run file describes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/network/layers/layer.h"
#include "runtime/network/models/config.h"

namespace penstock {

// The batch field that enters the first layer, as one sample has it, and the form of the labels.
// The field "source_tokens" comes with "source_lengths" (one I32 a sample) and "target_tokens" (one
// a position).
struct ModelInput {
  std::string field;  // "tokens", "source_tokens", "images" or "inputs"
  Shape shape;        // [context]; [height, width, channels]; [features]
  DType dtype = DType::F32;
  bool label_per_position = false;  // one label a token, as in language models; else one a sample
};
[[nodiscard]] ModelInput input_of(const ModelConfig& config);

// `vocabulary` and `classes` are what the data has (0: unknown), used where the config says 0.
// Throws Error(Input) naming the key, layer or line that does not fit. Allocates no weights.
[[nodiscard]] Sequential build_model(const ModelConfig& config, int64_t vocabulary,
                                     int64_t classes);

// The source of a program's networks: the built-in kinds, or one of its own (launch/penstock.h).
// `input` is as input_of(), `build` as build_model().
struct ModelMaker {
  std::function<ModelInput(const ModelConfig& config)> input;
  std::function<Sequential(const ModelConfig& config, int64_t vocabulary, int64_t classes)> build;
};
[[nodiscard]] ModelMaker built_in_models();
// The built-in models, and `own` for model.kind = "own".
[[nodiscard]] ModelMaker with_own_model(const ModelMaker& own);

// ---- the builders, one .cpp each
// transformer-lm and decoder
[[nodiscard]] Sequential decoder(const ModelConfig& config, int64_t vocabulary);
[[nodiscard]] Sequential transformer_nmt(const ModelConfig& config, int64_t vocabulary);
// amoebanet-d and amoebanet-b
[[nodiscard]] Sequential amoebanet(const ModelConfig& config, int64_t classes);
[[nodiscard]] Sequential resnet(const ModelConfig& config, int64_t classes);
[[nodiscard]] Sequential unet(const ModelConfig& config, int64_t classes);
[[nodiscard]] Sequential mlp(const ModelConfig& config, int64_t classes);
[[nodiscard]] Sequential sequential(const ModelConfig& config, int64_t vocabulary, int64_t classes);

}  // namespace penstock
