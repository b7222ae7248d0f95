// runtime/network/models/models.h -- build_model(): makes the list of layers (Sequential) that the
// [model] section of a run file describes: Transformers, AmoebaNet, ResNet, U-Net and others.
//
// The planner and the pipeline call it through a ModelMaker, since a program may bring a network of
// its own beside the built-in ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/error.h"
#include "runtime/network/layers/layer.h"
#include "runtime/network/models/config.h"

namespace penstock {

// What a network needs of the data: the field that enters the first layer, with the shape that one
// sample has (without the batch axis), and the form of the labels. With the field "source_tokens"
// the data also have "source_lengths" (one I32 a sample) and "target_tokens" (one I32 a position),
// which other layers read.
struct ModelInput {
  std::string field;  // "tokens", "source_tokens", "images" or "inputs"
  Shape shape;        // [context]; [height, width, channels]; [features]
  DType dtype = DType::F32;
  bool label_per_position = false;  // one label for each token; else one for each sample
  bool label_per_pixel = false;     // images: one label for each pixel instead of one
};
// The input of the network that the section describes. Throws Error(Input) where model.image or
// model.input has not the form that it must have.
[[nodiscard]] ModelInput input_of(const ModelConfig& config);
// The shape of a sample's labels: [context], [height, width] or, for one label, [].
[[nodiscard]] Shape label_shape(const ModelInput& input);
// The loss that a network is trained by: label smoothing, the clipping of logits and their z-loss.
[[nodiscard]] CrossEntropyOptions loss_of(const ModelConfig& config);

// Calls `function`, which makes or checks the network that the section describes, and returns its
// result. An Error(Input) of it is thrown on with config.said_in before its message, unless that
// names the place already.
template <class Function>
auto naming_section(const ModelConfig& config, const Function& function);

// The layers of the network. `vocabulary` (number of tokens) and `classes` are those of the data
// (0: not known), and count where the config says 0. Throws Error(Input) naming the key, layer or
// line that does not fit. Allocates no weights.
[[nodiscard]] Sequential build_model(const ModelConfig& config, int64_t vocabulary,
                                     int64_t classes);

// The source of the networks of a program: a pair of functions like input_of() and build_model().
// Programs that bring a network of their own give their own pair (launch/penstock.h). Those that
// the functions below return name the section (naming_section()).
struct ModelMaker {
  std::function<ModelInput(const ModelConfig& config)> input;
  std::function<Sequential(const ModelConfig& config, int64_t vocabulary, int64_t classes)> build;
};
[[nodiscard]] ModelMaker built_in_models();
// `own` where model.kind is "own", else the built-in functions.
[[nodiscard]] ModelMaker with_own_model(const ModelMaker& own);

// ---- what build_model() calls for each model.kind, one .cpp each
// transformer-lm and decoder
[[nodiscard]] Sequential decoder(const ModelConfig& config, int64_t vocabulary);
[[nodiscard]] Sequential transformer_nmt(const ModelConfig& config, int64_t vocabulary);
// amoebanet-d and amoebanet-b
[[nodiscard]] Sequential amoebanet(const ModelConfig& config, int64_t classes);
[[nodiscard]] Sequential resnet(const ModelConfig& config, int64_t classes);
[[nodiscard]] Sequential unet(const ModelConfig& config, int64_t classes);
[[nodiscard]] Sequential mlp(const ModelConfig& config, int64_t classes);
[[nodiscard]] Sequential sequential(const ModelConfig& config, int64_t vocabulary, int64_t classes);

// ---- how naming_section() does it
[[nodiscard]] std::string with_section_named(const ModelConfig& config, const std::string& what);

template <class Function>
auto naming_section(const ModelConfig& config, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Input) throw;
    throw Error(error.kind(), with_section_named(config, error.what()), error.scope());
  }
}

}  // namespace penstock
