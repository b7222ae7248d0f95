// Networks whose layers are listed in the run file, so that any sequence trains without compiling.
// One function per kind makes the layer from its options and the shape that reaches it.
#include <functional>
#include <map>

#include "kernels/joined.h"
#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/attention.h"
#include "runtime/network/layers/library/embedding.h"
#include "runtime/network/layers/library/experts.h"
#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "runtime/network/layers/skip.h"
#include "runtime/network/models/layer_options.h"
#include "runtime/network/models/models.h"

namespace penstock {
namespace {

struct Surroundings {
  const ModelConfig& model;
  int64_t vocabulary, classes;
  std::string first;  // the full name of the first layer, the one that sees the data
};
using Maker = std::function<std::unique_ptr<Layer>(const std::string& name, LayerOptions& options,
                                                   const LayerConfig& config, const Shape& input,
                                                   const Surroundings& around)>;
using LayerPtr = std::unique_ptr<Layer>;

// This is an error whose message begins with the place of its entry in the run file. The entries
// around that entry hand the error on unchanged.
class Placed final : public Error {
 public:
  using Error::Error;
};

Layers make_layers(const std::vector<LayerConfig>& configs, const std::string& prefix,
                   Shapes& shapes, const Surroundings& around);

int as_int(int64_t value) {
  return static_cast<int>(value);
}

// Reads a pair of numbers, and refuses one that is out of bounds. The upper bound keeps the
// arithmetic of windows within int; no image is larger.
std::vector<int64_t> window_pair(LayerOptions& options, const std::string& key, int64_t minimum,
                                 int64_t otherwise) {
  constexpr int64_t kMaximum = 1'000'000;
  auto pair = options.pair(key, otherwise);
  for (int64_t value : pair) {
    if (value < minimum || value > kMaximum) {
      options.fail("option '" + key + "' must be " + std::to_string(minimum) + " to " +
                   std::to_string(kMaximum));
    }
  }
  return pair;
}

Window window_of(LayerOptions& options, int64_t kernel_default, int64_t stride_default) {
  const auto kernel = window_pair(options, "kernel", 1, kernel_default);
  const auto stride = window_pair(options, "stride", 1, stride_default);
  Window window = same_window(as_int(kernel[0]), as_int(kernel[1]), 1);
  window.stride_h = as_int(stride[0]);
  window.stride_w = as_int(stride[1]);
  if (options.has("padding")) {
    const auto padding = window_pair(options, "padding", 0, 0);
    window.pad_top = window.pad_bottom = as_int(padding[0]);
    window.pad_left = window.pad_right = as_int(padding[1]);
  }
  return window;
}

LayerPtr make_linear(const std::string& name, LayerOptions& options, const LayerConfig&,
                     const Shape& input, const Surroundings&) {
  return std::make_unique<Linear>(
      name, Linear::Options{.in = input.back(),
                            .out = options.integer("width", 1),
                            .bias = options.flag("bias", true),
                            .activation = activation_named(options.text("activation", "none"))});
}

LayerPtr make_conv(const std::string& name, LayerOptions& options, const LayerConfig&,
                   const Shape& input, const Surroundings&) {
  const std::string activation = options.text("activation", "none");
  if (activation != "none" && activation != "relu") {
    options.fail("activation must be none or relu; add an activation layer for others");
  }
  const Window window = window_of(options, 3, 1);
  return std::make_unique<Conv2d>(name,
                                  Conv2d::Options{.in = input.back(),
                                                  .out = options.integer("channels", 1),
                                                  .window = window,
                                                  .groups = as_int(options.integer("groups", 1, 1)),
                                                  .bias = options.flag("bias", true),
                                                  .relu = activation == "relu"});
}

LayerPtr make_conv_transpose(const std::string& name, LayerOptions& options, const LayerConfig&,
                             const Shape& input, const Surroundings&) {
  ConvTranspose2d::Options how;
  how.in = input.back();
  how.out = options.integer("channels", 1);
  how.groups = as_int(options.integer("groups", 1, 1));
  how.bias = options.flag("bias", true);
  const auto kernel = window_pair(options, "kernel", 1, 2);
  const auto stride = window_pair(options, "stride", 1, 2);
  const auto padding = window_pair(options, "padding", 0, 0);
  const auto output_padding = window_pair(options, "output_padding", 0, 0);
  how.window = {.kernel_h = as_int(kernel[0]),
                .kernel_w = as_int(kernel[1]),
                .stride_h = as_int(stride[0]),
                .stride_w = as_int(stride[1]),
                .pad_top = as_int(padding[0]),
                .pad_bottom = as_int(padding[0]),
                .pad_left = as_int(padding[1]),
                .pad_right = as_int(padding[1])};
  how.output_padding_h = as_int(output_padding[0]);
  how.output_padding_w = as_int(output_padding[1]);
  return std::make_unique<ConvTranspose2d>(name, how);
}

LayerPtr make_upsample(const std::string& name, LayerOptions& options, const LayerConfig&,
                       const Shape&, const Surroundings&) {
  const auto scale = window_pair(options, "scale", 1, 2);
  const std::string mode = options.text("mode", "nearest");
  const bool aligned = options.flag("align_corners", false);
  if (mode != "nearest" && mode != "bilinear") options.fail("mode must be nearest or bilinear");
  if (aligned && mode == "nearest") options.fail("align_corners is for mode = \"bilinear\"");
  return std::make_unique<Upsample2d>(name, Enlarging{.scale_h = as_int(scale[0]),
                                                      .scale_w = as_int(scale[1]),
                                                      .kind = mode == "nearest" ? Upsample::Nearest
                                                              : aligned ? Upsample::AlignedCorners
                                                                        : Upsample::Bilinear});
}

Maker make_pool(Pool kind) {
  return [kind](const std::string& name, LayerOptions& options, const LayerConfig&, const Shape&,
                const Surroundings&) -> LayerPtr {
    return std::make_unique<Pool2d>(name, window_of(options, 2, 2), kind);
  };
}

Maker make_activation(Activation f) {
  return
      [f](const std::string& name, LayerOptions&, const LayerConfig&, const Shape&,
          const Surroundings&) -> LayerPtr { return std::make_unique<ActivationLayer>(name, f); };
}

LayerPtr make_layer_norm(const std::string& name, LayerOptions& options, const LayerConfig&,
                         const Shape& input, const Surroundings&) {
  return std::make_unique<LayerNorm>(name, input.back(),
                                     static_cast<float>(options.number("epsilon", 1e-5)));
}

LayerPtr make_batch_norm(const std::string& name, LayerOptions& options, const LayerConfig&,
                         const Shape& input, const Surroundings&) {
  return std::make_unique<BatchNorm>(
      name, input.back(),
      BatchNorm::Options{.epsilon = static_cast<float>(options.number("epsilon", 1e-5)),
                         .decay = static_cast<float>(options.number("decay", 0.9))});
}

LayerPtr make_dropout(const std::string& name, LayerOptions& options, const LayerConfig&,
                      const Shape&, const Surroundings& around) {
  return std::make_unique<Dropout>(name, options.number("rate", around.model.dropout));
}

LayerPtr make_embedding(const std::string& name, LayerOptions& options, const LayerConfig&,
                        const Shape&, const Surroundings& around) {
  const std::string positions = options.text("positions", around.model.positions);
  if (positions != "none" && positions != "sinusoidal" && positions != "learned") {
    options.fail("positions must be none, sinusoidal or learned");
  }
  return std::make_unique<Embedding>(
      name,
      Embedding::Options{.vocabulary = options.integer("vocabulary", 1, around.vocabulary),
                         .width = options.integer("width", 1),
                         .context = around.model.context,
                         .positions = positions == "none"      ? Embedding::Positions::None
                                      : positions == "learned" ? Embedding::Positions::Learned
                                                               : Embedding::Positions::Sinusoidal});
}

LayerPtr make_attention(const std::string& name, LayerOptions& options, const LayerConfig&,
                        const Shape& input, const Surroundings&) {
  return std::make_unique<SelfAttention>(
      name, SelfAttention::Options{.width = input.back(),
                                   .heads = options.integer("heads", 1, 1),
                                   .causal = options.flag("causal", true),
                                   .bias = options.flag("bias", true),
                                   .dropout = options.number("dropout", 0.0)});
}

LayerPtr make_feed_forward(const std::string& name, LayerOptions& options, const LayerConfig&,
                           const Shape& input, const Surroundings&) {
  const auto activation = activation_named(options.text("activation", "relu"));
  if (!activation) options.fail("activation must not be none");
  return std::make_unique<FeedForward>(
      name, FeedForward::Options{.width = input.back(),
                                 .hidden = options.integer("hidden", 1, 4 * input.back()),
                                 .bias = options.flag("bias", true),
                                 .activation = *activation});
}

// A number that must not be below 0.
double weight_of(LayerOptions& options, const std::string& key) {
  const double value = options.number(key, 0.0);
  if (!(value >= 0.0)) options.fail("option '" + key + "' must be at least 0");
  return value;
}

// The options have the names of the decoder's keys.
LayerPtr make_experts(const std::string& name, LayerOptions& options, const LayerConfig&,
                      const Shape& input, const Surroundings&) {
  const auto activation = activation_named(options.text("activation", "silu"));
  if (!activation) options.fail("activation must not be none");
  const std::string router = options.text("router", "softmax");
  if (router != "softmax" && router != "sigmoid") options.fail("router must be softmax or sigmoid");
  constexpr int64_t kMostExperts = 65535;  // as in a decoder
  const int64_t experts = options.integer("experts", 1);
  if (experts > kMostExperts) options.fail("experts must be at most 65535");
  const double scale = options.number("router_scale", 1.0);
  if (!(scale > 0.0)) options.fail("option 'router_scale' must be above 0");
  const int64_t width = input.back();
  return std::make_unique<Experts>(
      name,
      Experts::Options{.width = width,
                       .hidden = options.integer("expert_width", 1, 4 * width),
                       .experts = experts,
                       .chosen = options.integer("experts_per_token", 1, 2),
                       .activation = *activation,
                       .score = router == "sigmoid" ? RouterScore::Sigmoid : RouterScore::Softmax,
                       .normalised = options.flag("router_normalised", true),
                       .scale = scale,
                       .groups = options.integer("expert_groups", 1, 1),
                       .chosen_groups = options.integer("groups_per_token", 1, 1),
                       .router_bias = options.flag("router_bias", false),
                       .correction = options.flag("router_correction", false),
                       .balance_rate = weight_of(options, "balance_rate"),
                       .shared_hidden = options.integer("shared_expert_width", 0, 0),
                       .shared_gate = options.flag("shared_expert_gate", false),
                       .balance_loss = weight_of(options, "balance_loss"),
                       .z_loss = weight_of(options, "router_z_loss")});
}

LayerPtr make_residual(const std::string& name, LayerOptions& options, const LayerConfig& config,
                       const Shape& input, const Surroundings& around) {
  if (config.layers.empty()) options.fail("needs its branch: layers = [ ... ]");
  Shapes branch_shapes = {input};
  Layers branch = make_layers(config.layers, name + ".branch.", branch_shapes, around);
  Shapes shortcut_shapes = {input};
  Layers shortcut = make_layers(config.shortcut, name + ".shortcut.", shortcut_shapes, around);
  return std::make_unique<Residual>(name, std::move(branch), std::move(shortcut),
                                    activation_named(options.text("activation", "none")));
}

LayerPtr make_group(const std::string& name, LayerOptions& options, const LayerConfig& config,
                    const Shape& input, const Surroundings& around) {
  if (config.layers.empty()) options.fail("needs layers = [ ... ]");
  Shapes shapes = {input};
  return std::make_unique<Group>(name, "group",
                                 make_layers(config.layers, name + ".", shapes, around));
}

// Refuses what has not a vector for each label of a sample: a step would find it otherwise.
void check_labels(const ModelInput& model, const Shape& input, const LayerOptions& options) {
  if (model.label_per_position) return;
  if (!model.label_per_pixel) {
    if (input.rank() == 2) return;
    options.fail("tells one class of a sample, and " + image_text(input) +
                 " reaches it: put global-pool or flatten before it, or, for a class for each "
                 "pixel, give model.per_pixel = true");
  }
  if (input.rank() == 4 && input[1] == model.shape[0] && input[2] == model.shape[1]) return;
  options.fail("tells a class for each pixel of model.image, which is " +
               std::to_string(model.shape[0]) + " high and " + std::to_string(model.shape[1]) +
               " wide, and " + image_text(input) +
               " reaches it: upsample or conv2d-transpose make it larger");
}

LayerPtr make_classifier(const std::string& name, LayerOptions& options, const LayerConfig&,
                         const Shape& input, const Surroundings& around) {
  const ModelInput model = input_of(around.model);
  check_labels(model, input, options);
  const bool text = model.label_per_position;
  return std::make_unique<ClassifierLoss>(
      name, ClassifierLoss::Options{
                .width = input.back(),
                .classes = options.integer("classes", 2, text ? around.vocabulary : around.classes),
                .bias = options.flag("bias", true),
                .loss = loss_of(around.model)});
}

LayerPtr make_stash(const std::string& name, LayerOptions& options, const LayerConfig&,
                    const Shape&, const Surroundings&) {
  return std::make_unique<Stash>(name, options.text("skip", ""));
}

LayerPtr make_pop(const std::string& name, LayerOptions& options, const LayerConfig&, const Shape&,
                  const Surroundings&) {
  const std::string join = options.text("join", "concat");
  if (join != "concat" && join != "add") options.fail("join must be concat or add");
  return std::make_unique<Pop>(name, options.text("skip", ""),
                               join == "add" ? Pop::Join::Add : Pop::Join::Concat);
}

template <class L>
LayerPtr make_plain(const std::string& name, LayerOptions&, const LayerConfig&, const Shape&,
                    const Surroundings&) {
  return std::make_unique<L>(name);
}

const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> table = {
      {"linear", make_linear},
      {"conv2d", make_conv},
      {"conv2d-transpose", make_conv_transpose},
      {"upsample", make_upsample},
      {"max-pool", make_pool(Pool::Max)},
      {"average-pool", make_pool(Pool::Average)},
      {"global-pool", make_plain<GlobalPool>},
      {"flatten", make_plain<Flatten>},
      {"relu", make_activation(Activation::Relu)},
      {"gelu", make_activation(Activation::Gelu)},
      {"gelu-tanh", make_activation(Activation::GeluTanh)},
      {"silu", make_activation(Activation::Silu)},
      {"tanh", make_activation(Activation::Tanh)},
      {"layer-norm", make_layer_norm},
      {"batch-norm", make_batch_norm},
      {"dropout", make_dropout},
      {"embedding", make_embedding},
      {"self-attention", make_attention},
      {"feed-forward", make_feed_forward},
      {"experts", make_experts},
      {"residual", make_residual},
      {"stash", make_stash},
      {"pop", make_pop},
      {"group", make_group},
      {"classifier", make_classifier},
  };
  return table;
}

LayerPtr make_layer(const LayerConfig& config, const std::string& name, const Shapes& shapes,
                    const Surroundings& around) {
  LayerOptions options(config);
  const auto found = makers().find(config.kind);
  if (found == makers().end()) {
    const auto kind_of = [](const auto& entry) { return entry.first; };
    options.fail("no such kind of layer; known are " + joined(makers(), ", ", kind_of));
  }
  if (shapes.size() != 1) options.fail("stands after the classifier, which must be last");
  if (config.kind == "embedding" && name != around.first) {
    options.fail("must be the first layer: nothing but the data gives token ids");
  }
  LayerPtr layer = found->second(name, options, config, shapes[0], around);
  const bool skips = config.kind == "stash" || config.kind == "pop";
  if (skips && (layer->stashes() + layer->pops()).empty()) options.fail("needs skip = \"a name\"");
  options.finish();
  return layer;
}

std::string own_name(const LayerConfig& config, size_t position) {
  return config.name.empty() ? std::to_string(position) : config.name;
}

Layers make_layers(const std::vector<LayerConfig>& configs, const std::string& prefix,
                   Shapes& shapes, const Surroundings& around) {
  Layers layers;
  ShapeWalk walk(shapes);
  for (size_t i = 0; i < configs.size(); ++i) {
    const LayerConfig& config = configs[i];
    try {
      layers.push_back(make_layer(config, prefix + own_name(config, i), walk.between(), around));
      walk.next(*layers.back());
    } catch (const Placed&) {
      throw;
    } catch (const Error& error) {
      throw Placed(error.kind(), (config.where.empty() ? "" : config.where + ": ") + error.what());
    }
  }
  shapes = walk.between();
  return layers;
}

}  // namespace

Sequential sequential(const ModelConfig& config, int64_t vocabulary, int64_t classes) {
  if (config.sequence.empty()) {
    fail_input("a sequential model needs its layers: add [[model.layers]] entries to the run file");
  }
  std::vector<LayerConfig> configs = config.sequence;
  if (configs.back().kind != "classifier") {
    LayerConfig last;
    last.kind = last.name = "classifier";
    configs.push_back(last);
  }
  // Shapes are followed for a batch of one; the engine infers them again for its micro-batches.
  const Shape sample = input_of(config).shape;
  std::vector<int64_t> extents = {1};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  Shapes shapes = {Shape(std::span<const int64_t>(extents))};
  Sequential model;
  const std::string first = "layers." + own_name(configs[0], 0);
  model.layers =
      make_layers(configs, "layers.", shapes, Surroundings{config, vocabulary, classes, first});
  return model;
}

}  // namespace penstock
