// AmoebaNet-D and AmoebaNet-B (Real et al. 2019) with L normal cells in three stages of D, 2D and
// 4D filters, as GPipe (Huang et al. 2019) trained them: a stem, the cells with a reduction before
// the second and third stage, and a classifier. Between cells two tensors cross
// (runtime/network/layers/library/cell.h).
#include "runtime/network/models/amoebanet/amoebanet.h"

#include <algorithm>

#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/models/models.h"

namespace penstock {
namespace {

using namespace amoeba;

// These are the layers that a network can begin with; D is model.filters. Wide and narrow reproduce
// published numbers of parameters, small is for images of 32 x 32.
//   wide    3x3 convolution of stride 2 to D/4 channels, reduction cells of D/2 and D filters
//   narrow  the same with 32 channels, D/4 and D/2 filters; the convolution has no padding, the
//           first cell does not project its second input, a ReLU stands before the last pool
//   small   3x3 convolution of stride 1 to 3D channels: the form for CIFAR of Zoph et al. 2018
enum class Stem : uint8_t { Wide, Narrow, Small };

Stem stem_of(const ModelConfig& config) {
  if (config.stem == "wide") return Stem::Wide;
  if (config.stem == "narrow") return Stem::Narrow;
  if (config.stem == "small") return Stem::Small;
  if (config.stem == "auto") return config.kind == "amoebanet-b" ? Stem::Narrow : Stem::Wide;
  fail_input("unknown model.stem '" + config.stem + "'; known are auto, wide, narrow and small");
}

// Builds the layers one after the other, and keeps account of the tensors that the next cell gets.
class Builder {
 public:
  Builder(const ModelConfig& config, int64_t classes)
      : config_(config),
        classes_(classes),
        stem_(stem_of(config)),
        filters_(config.filters),
        genotypes_(config.kind == "amoebanet-b" ? genotypes_b() : genotypes_d()),
        style_{.norm = {.epsilon = static_cast<float>(config.norm_epsilon),
                        .decay = static_cast<float>(config.norm_decay)},
               .drop_path = {.rate = config.drop_path, .ramp_steps = config.drop_path_ramp}} {}

  [[nodiscard]] Layers build() {
    add_stem();
    constexpr int kStages = 3;
    const int64_t cells = config_.layers / kStages;
    int64_t filters = filters_;
    for (int stage = 0; stage < kStages; ++stage, filters *= 2) {
      if (stage > 0) add_cell("reductions." + std::to_string(stage - 1), filters, true);
      for (int64_t i = 0; i < cells; ++i) {
        const int64_t number = stage * cells + i;
        last_ = number + 1 == config_.layers;
        add_cell("cells." + std::to_string(number), filters, false);
      }
      if (stage == 1 && config_.auxiliary_weight > 0.0) add_auxiliary_head();
    }
    add_classifier();
    return std::move(layers_);
  }

 private:
  void add_stem() {
    const bool small = stem_ == Stem::Small;
    const int64_t out = small ? 3 * filters_ : stem_ == Stem::Wide ? filters_ / 4 : 32;
    Window window = same_window(3, 3, small ? 1 : 2);
    if (stem_ == Stem::Narrow) {
      window.pad_top = window.pad_bottom = window.pad_left = window.pad_right = 0;
    }
    Layers stem;
    add_convolution(stem, "stem", input_of(config_).shape.back(), out, window, style_.norm);
    layers_.push_back(std::make_unique<Group>("stem", "stem", std::move(stem)));
    current_ = previous_ = {out, 0};
    if (small) return;
    const int64_t first = stem_ == Stem::Wide ? filters_ / 2 : filters_ / 4;
    add_cell("stem.reductions.0", first, true);
    add_cell("stem.reductions.1", 2 * first, true);
  }

  [[nodiscard]] Previous form(int64_t filters) const {
    const bool first = layers_.size() == 1;  // both inputs are the stem convolution's output
    if (first) return stem_ == Stem::Narrow ? Previous::AsIs : Previous::Projected;
    if (previous_.halvings != current_.halvings) return Previous::Halved;
    return previous_.channels == filters ? Previous::AsIs : Previous::Projected;
  }

  void add_cell(const std::string& name, int64_t filters, bool reduce) {
    const Genotype& genotype = reduce ? genotypes_.reduction : genotypes_.normal;
    layers_.push_back(make_cell(name, genotype,
                                {.current = current_.channels,
                                 .previous = previous_.channels,
                                 .filters = filters,
                                 .form = form(filters),
                                 .reduce = reduce,
                                 .last = last_},
                                style_));
    previous_ = current_;
    current_.channels = filters * static_cast<int64_t>(genotype.outputs.size());
    current_.halvings += reduce ? 1 : 0;
  }

  [[nodiscard]] ClassifierLoss::Options classifier(int64_t width) const {
    return {.width = width, .classes = classes_, .loss = loss_of(config_)};
  }

  // Adds the auxiliary head of Real et al. 2019. Their pool has a window of 5 x 5; if the map is
  // smaller, the window is as large as the map.
  void add_auxiliary_head() {
    constexpr double kShare = 0.4;
    const auto narrow = static_cast<int64_t>(128 * kShare);
    const auto wide = static_cast<int64_t>(768 * kShare);
    const std::string name = "auxiliary";
    const Shape map = map_shape();
    const int pool_h = static_cast<int>(std::min<int64_t>(5, map[1]));
    const int pool_w = static_cast<int>(std::min<int64_t>(5, map[2]));
    const Window pool = {.kernel_h = pool_h, .kernel_w = pool_w, .stride_h = 3, .stride_w = 3};
    const Shape pooled = window_output(map, pool, narrow);
    const Window whole = {.kernel_h = static_cast<int>(pooled[1]),
                          .kernel_w = static_cast<int>(pooled[2])};
    Layers head;
    const auto add_relu = [&](const std::string& at) {
      head.push_back(std::make_unique<ActivationLayer>(name + at, Activation::Relu));
    };
    add_relu(".relu");
    head.push_back(std::make_unique<Pool2d>(name + ".pool", pool, Pool::Average));
    add_convolution(head, name + ".0", current_.channels, narrow, Window{}, style_.norm);
    add_relu(".0.relu");
    add_convolution(head, name + ".1", narrow, wide, whole, style_.norm);
    add_relu(".1.relu");
    head.push_back(std::make_unique<Flatten>(name + ".flatten"));
    head.push_back(std::make_unique<ClassifierLoss>(name + ".classifier", classifier(wide)));
    layers_.push_back(
        std::make_unique<AuxiliaryLoss>(name, std::move(head), config_.auxiliary_weight));
  }

  // Returns the shape of one image after the layers so far.
  [[nodiscard]] Shape map_shape() const {
    const Shape image = input_of(config_).shape;
    Shapes shapes = {{1, image[0], image[1], image[2]}};
    for (const auto& layer : layers_) shapes = layer->infer(shapes);
    return shapes[0];
  }

  void add_classifier() {
    Layers pool;
    if (stem_ == Stem::Narrow) {
      pool.push_back(std::make_unique<ActivationLayer>("pool.relu", Activation::Relu));
    }
    pool.push_back(std::make_unique<GlobalPool>("pool"));
    if (config_.dropout > 0.0) {
      pool.push_back(std::make_unique<Dropout>("pool.dropout", config_.dropout));
    }
    layers_.push_back(std::make_unique<Group>("pool", "pool", std::move(pool)));
    layers_.push_back(
        std::make_unique<ClassifierLoss>("classifier", classifier(current_.channels)));
  }

  struct Stream {
    int64_t channels = 0;
    int halvings = 0;  // how often reductions have halved height and width
  };

  const ModelConfig& config_;
  int64_t classes_;
  Stem stem_;
  int64_t filters_;
  const Genotypes& genotypes_;
  Style style_;
  Layers layers_;
  Stream current_, previous_;
  bool last_ = false;
};

}  // namespace

Sequential amoebanet(const ModelConfig& config, int64_t classes) {
  if (config.layers < 3 || config.layers % 3 != 0) {
    fail_input(
        "model.layers of an AmoebaNet are three stages of as many cells: 3, 6, 9, ..., not " +
        std::to_string(config.layers));
  }
  const int64_t least = stem_of(config) == Stem::Narrow ? 16 : 8;
  if (config.filters < least || config.filters % 8 != 0) {
    fail_input("model.filters of an AmoebaNet with this stem must be a multiple of 8, at least " +
               std::to_string(least) + ", not " + std::to_string(config.filters));
  }
  Sequential model;
  model.layers = Builder(config, classes).build();
  return model;
}

}  // namespace penstock
