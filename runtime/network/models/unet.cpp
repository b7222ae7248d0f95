// U-Net (Ronneberger et al. 2015): down through levels of half the size and twice the channels, up
// again, and at each level the tensor of the way down beside that of the way up: skips as long as
// the network. With batch norm and padded convolutions, as it is mostly built since. It tells a
// class for each pixel, or one for the image, for which the features of its pixels are averaged.
#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "runtime/network/layers/skip.h"
#include "runtime/network/models/models.h"

namespace penstock {
namespace {

using Norm = BatchNorm::Options;

// A 3x3 convolution, batch norm, ReLU.
void add_convolution(Layers& layers, const std::string& name, int64_t in, int64_t out,
                     const Norm& norm) {
  layers.push_back(std::make_unique<Conv2d>(
      name + ".conv",
      Conv2d::Options{.in = in, .out = out, .window = same_window(3, 3, 1), .bias = false}));
  layers.push_back(std::make_unique<BatchNorm>(name + ".norm", out, norm));
  layers.push_back(std::make_unique<ActivationLayer>(name + ".relu", Activation::Relu));
}

std::unique_ptr<Layer> double_convolution(const std::string& name, int64_t in, int64_t out,
                                          const Norm& norm) {
  Layers layers;
  add_convolution(layers, name + ".0", in, out, norm);
  add_convolution(layers, name + ".1", out, out, norm);
  return std::make_unique<Group>(name, "double-convolution", std::move(layers));
}

// What stands at the end of each level of the way down.
void add_halving(Layers& layers, const std::string& name, const std::string& skip) {
  Window halving = same_window(2, 2, 2);
  halving.pad_bottom = halving.pad_right = 0;
  layers.push_back(std::make_unique<Stash>(name + ".stash", skip));
  layers.push_back(std::make_unique<Pool2d>(name + ".pool", halving, Pool::Max));
}

std::string numbered(const char* what, int64_t level) {
  return what + std::to_string(level);
}

// The layers between the image and the classifier. Returns the number of channels at their end.
int64_t add_plain(Layers& layers, const ModelConfig& config, int64_t in, const Norm& norm) {
  int64_t width = config.filters;
  for (int64_t level = 0; level < config.layers; ++level, width *= 2) {
    const std::string name = numbered("down.", level);
    layers.push_back(double_convolution(name, in, width, norm));
    add_halving(layers, name, numbered("level.", level));
    in = width;
  }
  layers.push_back(double_convolution("bottom", in, width, norm));
  for (int64_t level = config.layers; level-- > 0; width /= 2) {
    const std::string name = numbered("up.", level);
    layers.push_back(std::make_unique<UpConvolution>(name + ".grow", width, width / 2));
    layers.push_back(
        std::make_unique<Pop>(name + ".pop", numbered("level.", level), Pop::Join::Concat));
    layers.push_back(double_convolution(name, width, width / 2, norm));
  }
  return width;
}

// The same of form = "simplified", the U-Net (B, C) of torchgpipe (Kim et al. 2020): B convolutions
// a level, each a layer by itself, and pixels are repeated on the way up.
int64_t add_simplified(Layers& layers, const ModelConfig& config, int64_t in, const Norm& norm) {
  const auto add_level = [&](const std::string& name, int64_t inner, int64_t out) {
    for (int64_t i = 0; i < config.convolutions; ++i) {
      const int64_t after = i + 1 < config.convolutions ? inner : out;
      const std::string own = name + "." + std::to_string(i);
      Layers parts;
      add_convolution(parts, own, in, after, norm);
      layers.push_back(std::make_unique<Group>(own, "convolution", std::move(parts)));
      in = after;
    }
  };
  int64_t width = config.filters;
  for (int64_t level = 0; level < config.layers; ++level, width *= 2) {
    const std::string name = numbered("down.", level);
    add_level(name, width, width);
    add_halving(layers, name, numbered("level.", level));
  }
  add_level("bottom", width, width / 2);
  for (int64_t level = config.layers; level-- > 0;) {
    width /= 2;
    const std::string name = numbered("up.", level);
    layers.push_back(std::make_unique<Upsample2d>(name + ".grow", Enlarging{}));
    layers.push_back(
        std::make_unique<Pop>(name + ".pop", numbered("level.", level), Pop::Join::Concat));
    in = 2 * width;
    add_level(name, width / 2, width / 2);
  }
  return width / 2;
}

bool is_simplified(const ModelConfig& config) {
  return config.form == "simplified";
}

void check(const ModelConfig& config) {
  constexpr int64_t kMostLevels = 16;
  if (config.layers > kMostLevels) {
    fail_input("model.layers of a U-Net are its levels, at most " + std::to_string(kMostLevels) +
               ", not " + std::to_string(config.layers));
  }
  if (is_simplified(config) && config.filters % 2 != 0) {
    fail_input("model.filters of a simplified U-Net must be even, not " +
               std::to_string(config.filters) + ": the last level has half as many");
  }
  const Shape image = input_of(config).shape;
  const int64_t halved = int64_t{1} << config.layers;
  if (image[0] % halved != 0 || image[1] % halved != 0) {
    fail_input("model.image of a U-Net of " + std::to_string(config.layers) +
               " levels must be a multiple of " + std::to_string(halved) +
               " high and wide, so that both ways meet");
  }
}

}  // namespace

Sequential unet(const ModelConfig& config, int64_t classes) {
  check(config);
  const Norm norm = {.epsilon = static_cast<float>(config.norm_epsilon),
                     .decay = static_cast<float>(config.norm_decay)};
  Sequential model;
  Layers& layers = model.layers;
  const bool simplified = is_simplified(config);
  const int64_t in = input_of(config).shape.back();
  const int64_t width =
      simplified ? add_simplified(layers, config, in, norm) : add_plain(layers, config, in, norm);
  if (!config.per_pixel) layers.push_back(std::make_unique<GlobalPool>("pool"));
  layers.push_back(std::make_unique<ClassifierLoss>(
      "classifier",
      ClassifierLoss::Options{
          .width = width, .classes = classes, .bias = !simplified, .loss = loss_of(config)}));
  return model;
}

}  // namespace penstock
