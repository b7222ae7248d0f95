// U-Net (Ronneberger et al. 2015): down through levels of half the size and twice the channels, up
// again, and at each level the tensor of the way down beside that of the way up: skips as long as
// the network. With batch norm and padded convolutions, as it is mostly built since; one label an
// image, for which the scores of its pixels are averaged.
#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "runtime/network/layers/skip.h"
#include "runtime/network/models/models.h"

namespace penstock {
namespace {

// Twice (3x3 convolution, batch norm, ReLU).
std::unique_ptr<Layer> double_convolution(const std::string& name, int64_t in, int64_t out,
                                          const BatchNorm::Options& norm) {
  Layers layers;
  for (const char* at : {".0", ".1"}) {
    layers.push_back(std::make_unique<Conv2d>(
        name + at + ".conv",
        Conv2d::Options{.in = in, .out = out, .window = same_window(3, 3, 1), .bias = false}));
    layers.push_back(std::make_unique<BatchNorm>(name + at + ".norm", out, norm));
    layers.push_back(std::make_unique<ActivationLayer>(name + at + ".relu", Activation::Relu));
    in = out;
  }
  return std::make_unique<Group>(name, "double-convolution", std::move(layers));
}

void check(const ModelConfig& config) {
  constexpr int64_t kMostLevels = 16;
  if (config.layers > kMostLevels) {
    fail_input("model.layers of a U-Net are its levels, at most " + std::to_string(kMostLevels) +
               ", not " + std::to_string(config.layers));
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
  const BatchNorm::Options norm = {.epsilon = static_cast<float>(config.norm_epsilon),
                                   .decay = static_cast<float>(config.norm_decay)};
  Sequential model;
  Layers& layers = model.layers;
  const auto numbered = [](const char* what, int64_t level) {
    return what + std::to_string(level);
  };
  int64_t in = input_of(config).shape.back();
  int64_t width = config.filters;
  for (int64_t level = 0; level < config.layers; ++level, width *= 2) {
    const std::string name = numbered("down.", level);
    layers.push_back(double_convolution(name, in, width, norm));
    layers.push_back(std::make_unique<Stash>(name + ".stash", numbered("level.", level)));
    Window halving = same_window(2, 2, 2);
    halving.pad_bottom = halving.pad_right = 0;
    layers.push_back(std::make_unique<Pool2d>(name + ".pool", halving, Pool::Max));
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
  layers.push_back(std::make_unique<GlobalPool>("pool"));
  layers.push_back(std::make_unique<ClassifierLoss>(
      "classifier",
      ClassifierLoss::Options{.width = width, .classes = classes, .loss = loss_of(config)}));
  return model;
}

}  // namespace penstock
