// transformer-nmt: counts of the paper's models, gradients against central differences, and what
// must not depend on what: padding on nothing, words on later words.
#include <cmath>
#include <memory>

#include "runtime/network/stage/stage.h"
#include "tests/support/trained.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

int64_t parameters_of(const ModelConfig& config) {
  ParameterSet set;
  const Sequential model = build_model(config, 0, 0);
  for (const auto& layer : model.layers) layer->declare(set);
  return set.declared().elements();
}

// T(L, H, A) of GPipe, 5: width 1024, heads of 64, no biases in attention and softmax.
ModelConfig t(int64_t layers, int64_t hidden, int64_t heads, int64_t vocabulary = 64000) {
  ModelConfig config;
  config.kind = "transformer-nmt";
  config.layers = layers;
  config.width = 1024;
  config.hidden = hidden;
  config.heads = heads;
  config.vocabulary = vocabulary;
  config.attention_bias = false;
  config.final_norm = false;
  return config;
}

// GPipe, section 5: L (3 attentions of 4 d 64 A, 2 feed-forwards of 2 d H + H + d, 5 norms of 2 d),
// one table for source and target, one for the softmax, and the softmax's biases. The paper prints
// 400M, 1.3B for both deep and wide, 3B, 6B and, for the bilingual one, 350M.
TEST(TranslationCounts, AreThoseOfThePaper) {
  EXPECT_EQ(parameters_of(t(6, 8192, 16)), 408'132'096);
  EXPECT_EQ(parameters_of(t(24, 8192, 16)), 1'239'120'384);
  EXPECT_EQ(parameters_of(t(12, 16384, 32)), 1'238'972'928);
  EXPECT_EQ(parameters_of(t(32, 16384, 32)), 3'085'367'808);
  EXPECT_EQ(parameters_of(t(64, 16384, 32)), 6'039'599'616);
  EXPECT_EQ(parameters_of(t(6, 8192, 16, 32000)), 342'564'096);
}

ModelConfig tiny_translation() {
  ModelConfig config;
  config.kind = "transformer-nmt";
  config.layers = 2;
  config.decoder_layers = 1;
  config.width = 12;
  config.heads = 2;
  config.head_width = 10;  // 20 channels of attention, not 12
  config.hidden = 18;
  config.context = 5;
  config.vocabulary = 11;
  config.activation = "gelu";
  return config;
}

TEST(Translation, OptionsChangeTheCount) {
  const int64_t plain = parameters_of(tiny_translation());
  ModelConfig config = tiny_translation();
  config.decoder_layers = 2;
  const int64_t attention = 4 * 12 * 20 + 3 * 20 + 12;
  EXPECT_EQ(parameters_of(config), plain + 2 * attention + 2 * 12 * 18 + 18 + 12 + 3 * 24);
  config.decoder_layers = 0;  // as many as the encoder has
  EXPECT_EQ(parameters_of(config), plain + 2 * attention + 2 * 12 * 18 + 18 + 12 + 3 * 24);
  config = tiny_translation();
  config.tied_embedding = true;  // the softmax too
  EXPECT_EQ(parameters_of(config), plain - 11 * 12);
  config = tiny_translation();
  config.head_width = 0;
  EXPECT_EQ(parameters_of(config),
            plain + 4 * (4 * 12 + 3) * (128 - 20));  // 4 attentions; 64 a head
}

TEST(Translation, SaysWhatItReads) {
  const Sequential model = build_model(tiny_translation(), 0, 0);
  EXPECT_EQ(model.inputs, std::vector<std::string>{"source_tokens"});
  std::string reads;
  for (const auto& layer : model.layers) {
    reads += layer->name() + ":";
    for (const std::string& field : layer->reads()) reads += " " + field;
    reads += "\n";
  }
  EXPECT_EQ(reads,
            "encoder.embedding:\n"
            "encoder.blocks.0: source_lengths\n"
            "encoder.blocks.1: source_lengths\n"
            "encoder.norm:\n"
            "decoder.embedding: target_tokens\n"
            "decoder.blocks.0: source_lengths\n"
            "decoder.norm:\n"
            "classifier: labels\n");
}

TEST(Translation, CarriesTheEncodersOutputToEveryDecoderBlock) {
  ModelConfig config = tiny_translation();
  config.decoder_layers = 3;
  const Sequential model = build_model(config, 0, 0);
  std::string tuples;
  Shapes shapes = {{2, 5}};
  for (const auto& layer : model.layers) {
    shapes = layer->infer(shapes);
    tuples += std::to_string(shapes.size());
  }
  EXPECT_EQ(tuples,
            "1111"
            "22211"
            "0");
}

// The network as one stage, and two pairs of sentences: 3 and 5 source tokens, 4 and 3 labels.
class Translator {
 public:
  explicit Translator(const ModelConfig& config)
      : device_(make_cpu_device(1)),
        model_(build_model(config, 0, 0)),
        stage_(model_.layers, RecomputeMode::None, 1, DType::F32, *device_, {.first = true}) {
    stage_.allocate(3);
    set("source_tokens", {2, 5}, {4, 5, 3, 0, 0, 4, 6, 7, 8, 3});
    set("source_lengths", {2}, {3, 5});
    set("target_tokens", {2, 5}, {2, 7, 8, 9, 0, 2, 5, 6, 0, 0});
    set("labels", {2, 5}, {7, 8, 9, 3, -1, 5, 6, 3, -1, -1});
  }

  void set(const std::string& name, const Shape& shape, const std::vector<int32_t>& values) {
    Tensor tensor = device_->empty(shape, DType::I32, Purpose::Activations);
    std::copy(values.begin(), values.end(), tensor.data<int32_t>());
    const auto place = std::find(names_.begin(), names_.end(), name);
    if (place == names_.end()) {
      names_.push_back(name);
      fields_.push_back(tensor);
    } else {
      fields_[static_cast<size_t>(place - names_.begin())] = tensor;
    }
  }

  // The mean loss over labels; gradients are in the parameters afterwards.
  double differentiate() {
    stage_.begin_step();
    (void)stage_.forward(micro_batch(), {fields_[0]}, true);
    (void)stage_.backward(micro_batch(), {});
    const auto* sums = stage_.losses(0).loss.data<double>();
    return sums[0] / sums[2];
  }
  std::vector<float> gradient() {
    std::vector<float> all;
    for (const StateEntry* p : parameters()) {
      const auto g = p->gradient.span<float>();
      all.insert(all.end(), g.begin(), g.end());
    }
    return all;
  }
  std::vector<StateEntry*> parameters() { return with_gradients(stage_); }
  // Summed over the layers that hold it, as the engine does before an update.
  [[nodiscard]] std::vector<float> gradient_of(const StateEntry& parameter) {
    const auto own = parameter.gradient.span<float>();
    std::vector<float> sum(own.begin(), own.end());
    for (const Parameter* holder : std::span(parameter.holders).subspan(1)) {
      const auto g = holder->gradient.span<float>();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += g[i];
    }
    return sum;
  }

 private:
  [[nodiscard]] MicroBatch micro_batch() const {
    return {.pass = {.training = true, .seed = 3, .step = 1, .loss_scale = 1.0F / 7.0F},
            .field_names = &names_,
            .fields = &fields_};
  }
  std::unique_ptr<Device> device_;
  Sequential model_;
  Stage stage_;
  std::vector<std::string> names_;
  std::vector<Tensor> fields_;
};

TEST(Translation, GradientsAreThoseOfTheLoss) {
  ModelConfig config = tiny_translation();
  config.label_smoothing = 0.1;
  config.dropout = 0.2;
  Translator network(config);
  (void)network.differentiate();
  for (StateEntry* p : network.parameters()) {
    const std::vector<float> gradient = network.gradient_of(*p);
    // Along the gradient itself, the steepest way: its length is the slope.
    double squares = 0.0;
    for (const float x : gradient) squares += double{x} * double{x};
    const double length = std::sqrt(squares);
    if (p->name.ends_with("key.bias")) {  // added to all scores alike
      EXPECT_LT(length, 1e-5) << p->name;
      continue;
    }
    ASSERT_GT(length, 1e-5) << p->name;
    constexpr double kStep = 2e-3;
    const auto move = [&](double distance) {
      auto w = p->value.span<float>();
      for (size_t i = 0; i < w.size(); ++i) {
        w[i] += static_cast<float>(distance / length * double{gradient[i]});
      }
      p->changed();
      return network.differentiate();
    };
    const double above = move(kStep);
    const double below = move(-2.0 * kStep);
    (void)move(kStep);
    // Losses are good to about 1e-7, so slopes to 1e-4.
    EXPECT_NEAR((above - below) / (2.0 * kStep), length, 0.02 * std::max(length, 0.02)) << p->name;
  }
}

TEST(Translation, PaddingHasNoSay) {
  Translator network(tiny_translation());
  const double loss = network.differentiate();
  const std::vector<float> gradient = network.gradient();
  network.set("source_tokens", {2, 5}, {4, 5, 3, 10, 9, 4, 6, 7, 8, 3});
  network.set("target_tokens", {2, 5}, {2, 7, 8, 9, 10, 2, 5, 6, 10, 1});
  EXPECT_EQ(network.differentiate(), loss);
  EXPECT_EQ(network.gradient(), gradient);
  network.set("source_tokens", {2, 5}, {4, 6, 3, 10, 9, 4, 6, 7, 8, 3});
  EXPECT_NE(network.differentiate(), loss) << "but what is no padding has";
}

TEST(Translation, NoWordSeesALaterOne) {
  Translator network(tiny_translation());
  // Only the first word of each sentence counts.
  network.set("labels", {2, 5}, {7, -1, -1, -1, -1, 5, -1, -1, -1, -1});
  const double before = network.differentiate();
  network.set("target_tokens", {2, 5}, {2, 1, 1, 1, 1, 2, 9, 9, 9, 9});
  EXPECT_EQ(network.differentiate(), before);
  network.set("target_tokens", {2, 5}, {6, 1, 1, 1, 1, 2, 9, 9, 9, 9});
  EXPECT_NE(network.differentiate(), before);
}

TEST(Translation, RefusesWhatCannotBe) {
  const auto refused = [](const std::function<void(ModelConfig&)>& change) {
    ModelConfig config = tiny_translation();
    change(config);
    return input_error_of([&] { (void)parameters_of(config); });
  };
  EXPECT_THAT(refused([](ModelConfig& c) { c.vocabulary = 0; }), HasSubstr("model.vocabulary"));
  EXPECT_THAT(refused([](ModelConfig& c) { c.heads = 0; }), HasSubstr("encoder.blocks.0"));
  EXPECT_THAT(refused([](ModelConfig& c) { c.activation = "none"; }),
              HasSubstr("model.activation"));
  EXPECT_THAT(refused([](ModelConfig& c) { c.positions = "rotary"; }),
              HasSubstr("model.positions"));
}

}  // namespace
}  // namespace penstock
