// Whole small networks: the gradient of the loss in every parameter tensor against central
// differences, and a loss that falls when gradients are followed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "kernels/philox.h"
#include "runtime/network/stage/stage.h"
#include "tests/support/trained.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

constexpr int64_t kBatch = 4;

// A network as one stage, and one batch of random data and labels.
class Trainee {
 public:
  explicit Trainee(const ModelConfig& config)
      : auxiliary_weight_(config.auxiliary_weight),
        device_(make_cpu_device(1)),
        model_(build_model(config, 0, 0)),
        stage_(model_.layers, RecomputeMode::None, 1, DType::F32, *device_, {.first = true}) {
    stage_.allocate(kSeed);
    const ModelInput input = input_of(config);
    std::vector<int64_t> extents = {kBatch};
    extents.insert(extents.end(), input.shape.extents().begin(), input.shape.extents().end());
    const Shape shape{std::span<const int64_t>(extents)};
    inputs_ = device_->empty(shape, input.dtype, Purpose::Activations);
    const bool text = input.dtype == DType::I32;
    const int64_t labels = kBatch * label_shape(input).elements();
    fields_ = {device_->empty({labels}, DType::I32, Purpose::Activations)};
    for (size_t i = 0; i < static_cast<size_t>(shape.elements()); ++i) {
      if (text) inputs_.data<int32_t>()[i] = static_cast<int32_t>(uniform(i) * kVocabulary);
      if (!text) inputs_.data<float>()[i] = 2.0F * uniform(i) - 1.0F;
    }
    for (size_t i = 0; i < static_cast<size_t>(labels); ++i) {
      const float classes = text ? kVocabulary : static_cast<float>(config.classes);
      fields_[0].data<int32_t>()[i] = static_cast<int32_t>(uniform(i + 10'000) * classes);
    }
    micro_batch_ = {
        .pass = {.seed = kSeed, .step = 1, .loss_scale = 1.0F / static_cast<float>(labels)},
        .field_names = &names_,
        .fields = &fields_};
  }

  // The mean loss, without that of an auxiliary head; the gradients of all are in the parameters
  // afterwards.
  double differentiate() {
    stage_.begin_step();
    (void)stage_.forward(micro_batch_, {inputs_}, true);
    (void)stage_.backward(micro_batch_, {});
    return double{micro_batch_.pass.loss_scale} * stage_.losses(0).loss.data<double>()[0];
  }
  // What the training forward makes small: the mean loss and the weighted one of an auxiliary head.
  double loss() {
    Tape tape(*device_);
    Tensor result;
    Tensors auxiliary;
    Context context = {.batch = micro_batch_,
                       .tape = tape,
                       .owned = stage_.weights().set(),
                       .recomputing = true,
                       .loss_scale = micro_batch_.pass.loss_scale,
                       .loss = &result,
                       .auxiliary_losses = &auxiliary};
    Variables x = {{inputs_, -1}};
    std::map<std::string, Variable> skips;
    for (const auto& layer : model_.layers) {
      if (!layer->pops().empty()) x.push_back(skips.at(layer->pops()));
      x = layer->forward(context, x);
      if (layer->stashes().empty()) continue;
      skips[layer->stashes()] = x.back();
      x.pop_back();
    }
    double sum = result.data<double>()[0];
    for (const Tensor& loss : auxiliary) sum += auxiliary_weight_ * loss.data<double>()[0];
    return double{micro_batch_.pass.loss_scale} * sum;
  }
  void descend(float rate) {
    for (StateEntry* p : parameters()) {
      const auto g = p->gradient.span<float>();
      auto w = p->value.span<float>();
      for (size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
      p->changed();
    }
    stage_.end_step(1);
  }
  std::vector<StateEntry*> parameters() { return with_gradients(stage_); }

 private:
  static constexpr uint64_t kSeed = 3;
  static constexpr float kVocabulary = 11.0F;
  static float uniform(size_t i) {
    return uniform_of(philox(random_stream(kSeed, hash_name("data")), i)[0]);
  }
  double auxiliary_weight_;
  std::unique_ptr<Device> device_;
  Sequential model_;
  Stage stage_;
  Tensor inputs_;
  std::vector<std::string> names_ = {"labels"};
  std::vector<Tensor> fields_;
  MicroBatch micro_batch_;
};

double slope(Trainee& network, StateEntry& p, size_t i, float step) {
  float& element = p.value.data<float>()[i];
  const float here = element;
  const auto at = [&](float value) {
    element = value;
    p.changed();
    return network.loss();
  };
  const double above = at(here + step);
  const double end = element;
  const double below = at(here - step);
  const double run = end - double{element};
  element = here;
  p.changed();
  return (above - below) / run;
}

// The losses are sums in double of fp32 logits, each good to about 1e-7, so a difference is good to
// 1e-7 / step. A wrong term anywhere (a missing residual, a forgotten scale) is an error of order
// one in the tensors before it.
enum class Kinks : uint8_t { None, Relus, Everywhere };

// The slope by least squares over small steps. One alone would drown in rounding, which differs
// between processors; in this many it evens out to a quarter.
double fine_slope(Trainee& network, StateEntry& p, size_t i) {
  constexpr int kSteps = 16;
  double products = 0.0;
  double squares = 0.0;
  for (int k = 0; k < kSteps; ++k) {
    const float step = 5e-5F + 1e-5F * static_cast<float>(k);
    const double square = double{step} * step;
    products += square * slope(network, p, i, step);
    squares += square;
  }
  return products / squares;
}

// Steps of 2e-3 and 4e-3 extrapolated where everything is smooth. A ReLU whose kink lies within the
// step errs by up to its own share of the gradient: a small step meets few. In a network where
// every tensor goes through several of them, and through pools of maxima, a step too large for one
// element or too small for the rounding of another is no fault: the gradient must be that of one of
// three. The finest, which takes its time, is left out where another is within `close` of it.
std::vector<double> true_slopes(Trainee& network, StateEntry& p, size_t i, Kinks kinks,
                                double gradient, double close) {
  const auto at = [&](float step) { return slope(network, p, i, step); };
  switch (kinks) {
    case Kinks::None:
      return {(4.0 * at(2e-3F) - at(4e-3F)) / 3.0};
    case Kinks::Relus:
      return {at(2e-4F)};
    case Kinks::Everywhere:
      break;
  }
  std::vector<double> slopes = {at(2e-4F), at(1e-3F)};
  const bool found = std::any_of(slopes.begin(), slopes.end(), [&](double expected) {
    return std::fabs(gradient - expected) <= close;
  });
  if (!found) slopes.push_back(fine_slope(network, p, i));
  return slopes;
}

// Compares gradients with slopes at a few elements of every tensor.
void expect_true_gradients(const ModelConfig& config, Kinks kinks) {
  const double tolerance = kinks == Kinks::None ? 5e-3 : 3e-2;
  const size_t elements = kinks == Kinks::Everywhere ? 2 : 5;
  Trainee network(config);
  (void)network.differentiate();
  for (StateEntry* p : network.parameters()) {
    const std::vector<float> gradient(p->gradient.span<float>().begin(),
                                      p->gradient.span<float>().end());
    constexpr double kLeast = 0.02;  // some gradients are zero in truth, as that of a key's bias
    double largest = kLeast;
    double worst = 0.0;
    const size_t stride = std::max<size_t>(1, gradient.size() / elements);
    for (size_t i = stride / 2; i < gradient.size(); i += stride) {
      ASSERT_TRUE(std::isfinite(gradient[i])) << p->name;
      double error = std::numeric_limits<double>::infinity();
      for (const double expected :
           true_slopes(network, *p, i, kinks, double{gradient[i]}, kLeast * tolerance)) {
        error = std::min(error, std::fabs(gradient[i] - expected));
        largest = std::max(largest, std::fabs(expected));
      }
      worst = std::max(worst, error);
    }
    EXPECT_LE(worst / largest, tolerance) << p->name;
  }
}

TEST(WholeNetworks, TransformerGradients) {
  ModelConfig config = transformer_config();
  config.positions = "learned";
  config.label_smoothing = 0.1;
  config.dropout = 0.1;
  expect_true_gradients(config, Kinks::None);
}

TEST(WholeNetworks, ResnetGradients) {
  expect_true_gradients(resnet_config("cifar", 8), Kinks::Relus);
}

TEST(WholeNetworks, AmoebaNetGradients) {
  for (const char* kind : {"amoebanet-d", "amoebanet-b"}) {
    SCOPED_TRACE(kind);
    expect_true_gradients(amoebanet_config(kind, "small"), Kinks::Everywhere);
  }
}

TEST(WholeNetworks, UNetGradients) {
  expect_true_gradients(unet_config(), Kinks::Everywhere);
}

TEST(WholeNetworks, GradientsOfAClassForEachPixel) {
  for (const char* form : {"cifar", "simplified"}) {
    SCOPED_TRACE(form);
    ModelConfig config = pixel_unet_config();
    config.form = form;
    expect_true_gradients(config, Kinks::Everywhere);
  }
  expect_true_gradients(all_enlarging_kinds(), Kinks::None);
}

TEST(WholeNetworks, SequentialGradients) {
  expect_true_gradients(all_token_kinds(), Kinks::None);
  expect_true_gradients(all_image_kinds(), Kinks::Relus);
}

TEST(WholeNetworks, LossesFall) {
  ModelConfig relu = transformer_config();
  relu.activation = "relu";
  relu.final_norm = false;
  relu.bias = relu.attention_bias = false;
  relu.depth_scaled_init = true;
  const std::vector<ModelConfig> configs = {transformer_config(),
                                            relu,
                                            resnet_config("cifar", 14),
                                            resnet_config("imagenet", 18),
                                            resnet_config("imagenet", 50),
                                            amoebanet_config("amoebanet-d", "small"),
                                            amoebanet_config("amoebanet-b", "small"),
                                            unet_config(),
                                            mlp_config(),
                                            all_image_kinds(),
                                            all_token_kinds()};
  for (const ModelConfig& config : configs) {
    SCOPED_TRACE(config.kind + " " + config.form);
    Trainee network(config);
    const double first = network.differentiate();
    // A network that knows nothing yet is about as good as guessing.
    const double guess = std::log(config.vocabulary > 0 ? 11.0 : 5.0);
    EXPECT_NEAR(first, guess, 0.8 * guess);
    double last = first;
    for (int step = 0; step < 20; ++step) {
      network.descend(0.1F);
      last = network.differentiate();
    }
    EXPECT_LT(last, 0.8 * first);
  }
}

}  // namespace
}  // namespace penstock
