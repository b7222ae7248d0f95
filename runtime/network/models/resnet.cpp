// Residual networks (He et al. 2016): the CIFAR variant of 6n + 2 layers, and the ImageNet variant
// with basic (18, 34) or bottleneck blocks (50, 101, 152). Shortcuts that change shape are 1x1
// convolutions.
#include <map>

#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "runtime/network/models/models.h"

namespace penstock {
namespace {

void add_conv(Layers& layers, const std::string& name, int64_t in, int64_t out, int kernel,
              int stride, const BatchNorm::Options& norm) {
  layers.push_back(std::make_unique<Conv2d>(
      name + ".conv",
      Conv2d::Options{
          .in = in, .out = out, .window = same_window(kernel, kernel, stride), .bias = false}));
  layers.push_back(std::make_unique<BatchNorm>(name + ".norm", out, norm));
}

void add_relu(Layers& layers, const std::string& name) {
  layers.push_back(std::make_unique<ActivationLayer>(name + ".relu", Activation::Relu));
}

// Makes a residual block. `width` is the number of channels of its 3x3 convolutions; a bottleneck
// puts out four times as many.
std::unique_ptr<Layer> bottleneck_block(const std::string& name, int64_t in, int64_t width,
                                        int stride, bool bottleneck,
                                        const BatchNorm::Options& norm) {
  const int64_t out = bottleneck ? 4 * width : width;
  Layers branch;
  if (bottleneck) {
    add_conv(branch, name + ".1", in, width, 1, 1, norm);
    add_relu(branch, name + ".1");
    add_conv(branch, name + ".2", width, width, 3, stride, norm);
    add_relu(branch, name + ".2");
    add_conv(branch, name + ".3", width, out, 1, 1, norm);
  } else {
    add_conv(branch, name + ".1", in, width, 3, stride, norm);
    add_relu(branch, name + ".1");
    add_conv(branch, name + ".2", width, out, 3, 1, norm);
  }
  Layers shortcut;
  if (stride != 1 || in != out) add_conv(shortcut, name + ".shortcut", in, out, 1, stride, norm);
  return std::make_unique<Residual>(name, std::move(branch), std::move(shortcut), Activation::Relu);
}

struct Variant {
  std::vector<int64_t> blocks;  // blocks of each group; the width doubles from group to group
  bool bottleneck = false;
  int64_t width = 16;
};

Variant variant_of(const ModelConfig& config) {
  Variant variant;
  if (config.form == "cifar") {
    if (config.depth < 8 || (config.depth - 2) % 6 != 0) {
      fail_input("model.depth of a CIFAR resnet is 6n + 2 (8, 14, 20, 32, ...), not " +
                 std::to_string(config.depth));
    }
    variant.blocks.assign(3, (config.depth - 2) / 6);
  } else if (config.form == "imagenet") {
    const std::map<int64_t, std::vector<int64_t>> known = {{18, {2, 2, 2, 2}},
                                                           {34, {3, 4, 6, 3}},
                                                           {50, {3, 4, 6, 3}},
                                                           {101, {3, 4, 23, 3}},
                                                           {152, {3, 8, 36, 3}}};
    const auto found = known.find(config.depth);
    if (found == known.end()) {
      fail_input("model.depth of an ImageNet resnet is 18, 34, 50, 101 or 152, not " +
                 std::to_string(config.depth));
    }
    variant.blocks = found->second;
    variant.bottleneck = config.depth >= 50;
    variant.width = 64;
  } else {
    fail_input("unknown model.form '" + config.form + "'; known are cifar and imagenet");
  }
  if (config.width > 0) variant.width = config.width;
  return variant;
}

}  // namespace

Sequential resnet(const ModelConfig& config, int64_t classes) {
  const Variant variant = variant_of(config);
  const bool large = config.form == "imagenet";
  const BatchNorm::Options norm = {.epsilon = static_cast<float>(config.norm_epsilon),
                                   .decay = static_cast<float>(config.norm_decay)};
  Sequential model;
  Layers stem;
  add_conv(stem, "stem", input_of(config).shape.back(), variant.width, large ? 7 : 3, large ? 2 : 1,
           norm);
  add_relu(stem, "stem");
  if (large) {
    stem.push_back(std::make_unique<Pool2d>("stem.pool", same_window(3, 3, 2), Pool::Max));
  }
  model.layers.push_back(std::make_unique<Group>("stem", "stem", std::move(stem)));

  int64_t channels = variant.width;
  int64_t width = variant.width;
  int64_t index = 0;
  for (size_t group = 0; group < variant.blocks.size(); ++group, width *= 2) {
    for (int64_t i = 0; i < variant.blocks[group]; ++i) {
      const int stride = group > 0 && i == 0 ? 2 : 1;
      model.layers.push_back(bottleneck_block("blocks." + std::to_string(index++), channels, width,
                                              stride, variant.bottleneck, norm));
      channels = variant.bottleneck ? 4 * width : width;
    }
  }
  model.layers.push_back(std::make_unique<GlobalPool>("pool"));
  model.layers.push_back(std::make_unique<ClassifierLoss>(
      "classifier",
      ClassifierLoss::Options{.width = channels, .classes = classes, .loss = loss_of(config)}));
  return model;
}

}  // namespace penstock
