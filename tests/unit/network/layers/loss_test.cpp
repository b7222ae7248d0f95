// The classifier against a double loop over its own weights: smoothing, ignored labels, clipping,
// the counts beside the loss, and the gradients that it starts.
#include "runtime/network/layers/library/loss.h"

#include <algorithm>

#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kWidth = 4;
constexpr size_t kClasses = 5;
constexpr float kScale = 0.5F;  // of the logits
const std::vector<int32_t> kLabels = {2, -1, 0, 4, 3, -100};

Layers classifier(const CrossEntropyOptions& loss, bool bias = true, int64_t rows_at_once = 0) {
  return layers_of(std::make_unique<ClassifierLoss>(
      "classifier", ClassifierLoss::Options{.width = kWidth,
                                            .classes = kClasses,
                                            .bias = bias,
                                            .scale = kScale,
                                            .labels = "labels",
                                            .loss = loss,
                                            .rows_at_once = rows_at_once}));
}
SmallNetwork loss_network(const CrossEntropyOptions& loss, bool bias = true) {
  return SmallNetwork(classifier(loss, bias));
}

struct Expected {
  double loss = 0.0, right = 0.0, counted = 0.0;
};

Expected expected(const Numbers& x, const Numbers& w, const Numbers& b,
                  const CrossEntropyOptions& options) {
  Expected sum;
  for (size_t r = 0; r < kLabels.size(); ++r) {
    if (kLabels[r] < 0) continue;
    Numbers logits(kClasses);
    for (size_t c = 0; c < kClasses; ++c) {
      for (size_t i = 0; i < kWidth; ++i) {
        logits[c] += kScale * x[r * kWidth + i] * w[c * kWidth + i];
      }
      logits[c] += b.empty() ? 0.0 : b[c];
      const double clip = options.clip;
      if (clip > 0.0) logits[c] = std::clamp(logits[c], -clip, clip);
    }
    double partition = 0.0;
    for (double logit : logits) partition += std::exp(logit);
    const auto label = static_cast<size_t>(kLabels[r]);
    for (size_t c = 0; c < kClasses; ++c) {
      const double smoothing = options.label_smoothing;
      const double target = (c == label ? 1.0 - smoothing : 0.0) + smoothing / kClasses;
      sum.loss -= target * (logits[c] - std::log(partition));
    }
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    sum.right += static_cast<size_t>(best) == label ? 1.0 : 0.0;
    sum.counted += 1.0;
  }
  return sum;
}

void check_loss(const CrossEntropyOptions& options, bool bias, int64_t rows_at_once) {
  SmallNetwork network(classifier(options, bias, rows_at_once));
  network.set_labels(network.integers({2, 3}, kLabels));
  const Tensor x = network.random({2, 3, kWidth}, 1);
  const Expected sum = expected(numbers_of(x), network.weight("classifier.weight"),
                                bias ? network.weight("classifier.bias") : Numbers{}, options);
  EXPECT_TRUE(network.stage().forward(network.micro_batch(0), {x}, true).empty());
  (void)network.stage().backward(network.micro_batch(0), {});  // it has the loss in pieces
  const auto result = network.stage().losses(0).loss.span<double>();
  ASSERT_EQ(result.size(), 3U);
  EXPECT_NEAR(result[0], sum.loss, 1e-5)
      << options.label_smoothing << ", clip " << options.clip << ", " << rows_at_once;
  EXPECT_EQ(result[1], sum.right);
  EXPECT_EQ(result[2], 4.0);
  EXPECT_EQ(sum.counted, 4.0);
}

TEST(Classifiers, LossCountsAndClips) {
  for (float smoothing : {0.0F, 0.1F}) {
    for (float clip : {0.0F, 0.25F}) {
      for (bool bias : {true, false}) {
        for (int64_t rows_at_once : {0, 1, 4}) {
          check_loss({.label_smoothing = smoothing, .clip = clip}, bias, rows_at_once);
        }
      }
    }
  }
}

// loss_scale multiplies gradients and not the loss that is told.
TEST(Classifiers, TheScaleIsThatOfTheGradients) {
  const auto run = [](float scale) {
    SmallNetwork network = loss_network({});
    network.set_labels(network.integers({6}, kLabels));
    MicroBatch micro_batch = network.micro_batch(0);
    micro_batch.pass.loss_scale = scale;
    (void)network.stage().forward(micro_batch, {network.random({6, kWidth}, 1)}, true);
    Numbers all = numbers_of(network.stage().backward(micro_batch, {})[0]);
    for (double g : numbers_of(network.stage().weights().gradients().all())) all.push_back(g);
    return std::make_pair(network.stage().losses(0).loss.data<double>()[0], all);
  };
  const auto [loss, gradients] = run(1.0F);
  const auto [scaled_loss, scaled] = run(0.25F);  // a power of two: exact
  EXPECT_EQ(loss, scaled_loss);
  ASSERT_EQ(gradients.size(), scaled.size());
  double largest = 0.0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_EQ(0.25 * gradients[i], scaled[i]);
    largest = std::max(largest, std::fabs(gradients[i]));
  }
  EXPECT_GT(largest, 0.1);
}

TEST(Classifiers, SayWhatTheyReadAndRefuse) {
  SmallNetwork network = loss_network({});
  Layer& layer = network.layer(0);
  EXPECT_EQ(layer.kind(), "classifier");
  EXPECT_THAT(layer.reads(), ElementsAre("labels"));
  EXPECT_TRUE(layer.infer({{2, 3, kWidth}}).empty());
  EXPECT_THAT(message_of([&] { (void)layer.infer({{2, 3}}); }), HasSubstr("layer 'classifier'"));
  EXPECT_THAT(message_of([&] {
                (void)layer.infer({{2, kWidth}, {2, kWidth}});
              }),
              HasSubstr("layer 'classifier' (classifier)"));
  network.set_labels(network.integers({3}, {0, 1, 2}));
  EXPECT_THAT(message_of([&] {
                (void)network.evaluate(network.random({2, kWidth}, 1));
              }),
              HasSubstr("2 rows for 3 labels"));
}

TEST(Classifiers, RefuseToCapWhatHasABias) {
  EXPECT_THAT(message_of([] {
                const ClassifierLoss layer("loss", {.width = 4, .classes = 3, .softcap = 1.0F});
              }),
              HasSubstr("caps logits that have no bias alone"));
}

TEST(Classifiers, AFieldThatNobodyGaveIsNamedWithTheLayer) {
  SmallNetwork network(layers_of(std::make_unique<ClassifierLoss>(
      "classifier",
      ClassifierLoss::Options{
          .width = kWidth, .classes = kClasses, .bias = true, .labels = "answers", .loss = {}})));
  try {
    (void)network.evaluate(network.random({2, kWidth}, 1));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_THAT(error.what(),
                HasSubstr("layer 'classifier' (classifier): uses the batch field 'answers'"));
  }
}

// ---- a second loss inside a network

constexpr double kWeight = 0.25;  // a power of two: exact

Layers head(const std::string& name, int64_t rows_at_once = 0) {
  return layers_of(std::make_unique<ClassifierLoss>(
      name, ClassifierLoss::Options{.width = kWidth,
                                    .classes = kClasses,
                                    .bias = true,
                                    .labels = "labels",
                                    .loss = {},
                                    .rows_at_once = rows_at_once}));
}

// The same head as the end of a network, and inside it.
SmallNetwork alone() {
  return SmallNetwork(head("head"));
}
SmallNetwork inside(RecomputeMode mode = RecomputeMode::None, int64_t rows_at_once = 0) {
  return SmallNetwork(
      layers_of(std::make_unique<AuxiliaryLoss>("auxiliary", head("head", rows_at_once), kWeight)),
      1, mode);
}

TEST(AuxiliaryLosses, PassTheirInputsAndAddAWeightedGradient) {
  SmallNetwork end = alone();
  end.set_labels(end.integers({6}, kLabels));
  (void)end.stage().forward(end.micro_batch(0), {end.random({6, kWidth}, 1)}, true);
  const Numbers of_input = numbers_of(end.stage().backward(end.micro_batch(0), {})[0]);
  const Numbers of_weights = numbers_of(end.stage().weights().gradients().all());

  for (const RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage}) {
    SmallNetwork network = inside(mode);
    network.set_labels(network.integers({6}, kLabels));
    EXPECT_THAT(network.layer(0).reads(), ElementsAre("labels"));
    const Tensor x = network.random({6, kWidth}, 1);
    const Tensor beside = network.random({3}, 2);
    const Tensors out =
        network.stage().forward(network.micro_batch(0), {x, beside}, mode == RecomputeMode::None);
    ASSERT_EQ(out.size(), 2U);
    EXPECT_EQ(out[0].raw(), x.raw());
    EXPECT_EQ(out[1].raw(), beside.raw());
    EXPECT_FALSE(network.stage().losses(0).loss) << "not the loss of the network";
    if (mode == RecomputeMode::Stage) network.stage().recompute(network.micro_batch(0));
    ASSERT_EQ(network.stage().losses(0).auxiliary.size(), 1U) << "a recompute counts nothing";
    EXPECT_EQ(network.stage().losses(0).auxiliary[0].data<double>()[0],
              end.stage().losses(0).loss.data<double>()[0]);
    const Tensor g = network.random({6, kWidth}, 3);
    const Tensors gradients =
        network.stage().backward(network.micro_batch(0), {g, network.random({3}, 4)});
    ASSERT_EQ(gradients.size(), 2U);
    const Numbers got = numbers_of(gradients[0]);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], numbers_of(g)[i] + kWeight * of_input[i], 1e-6);
    }
    EXPECT_EQ(numbers_of(gradients[1]), numbers_of(network.random({3}, 4)));
    const Numbers weights = numbers_of(network.stage().weights().gradients().all());
    for (size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(weights[i], kWeight * of_weights[i]);
  }
}

TEST(AuxiliaryLosses, InPiecesAreToldInEveryMode) {
  std::vector<Numbers> told;
  for (const RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage}) {
    SmallNetwork network = inside(mode, 4);
    network.set_labels(network.integers({6}, kLabels));
    const MicroBatch batch = network.micro_batch(0);
    (void)network.stage().forward(batch, {network.random({6, kWidth}, 1)},
                                  mode == RecomputeMode::None);
    if (mode == RecomputeMode::Stage) network.stage().recompute(batch);
    (void)network.stage().backward(batch, {network.random({6, kWidth}, 3)});
    const auto& losses = network.stage().losses(0).auxiliary;
    ASSERT_EQ(losses.size(), 1U);
    const auto numbers = losses[0].span<double>();
    told.emplace_back(numbers.begin(), numbers.end());
  }
  EXPECT_GT(told[0][0], 1.0);
  EXPECT_EQ(told[0][2], 4.0);
  EXPECT_EQ(told[0], told[1]);
}

TEST(AuxiliaryLosses, AreLeftOutOfEvaluation) {
  SmallNetwork network = inside();
  network.set_labels(network.integers({6}, kLabels));
  const Tensor x = network.random({6, kWidth}, 1);
  (void)network.stage().forward(network.micro_batch(0), {x}, true);
  EXPECT_FALSE(network.stage().losses(0).auxiliary.empty());
  (void)network.stage().backward(network.micro_batch(0), {network.random({6, kWidth}, 2)});
  EXPECT_EQ(network.evaluate(x)[0].raw(), x.raw());
  EXPECT_TRUE(network.stage().losses(0).auxiliary.empty());
}

TEST(AuxiliaryLosses, Refuse) {
  EXPECT_THAT(message_of([] { const AuxiliaryLoss layer("aux", head("aux.head"), 0.0); }),
              HasSubstr("layer 'aux' (auxiliary-loss)"));
  const AuxiliaryLoss endless("aux", Layers{}, 1.0);
  EXPECT_THAT(message_of([&] { (void)endless.infer({{2, kWidth}}); }), HasSubstr("loss"));
  const AuxiliaryLoss good("aux", head("aux.head"), 1.0);
  EXPECT_THAT(message_of([&] { (void)good.infer({}); }), HasSubstr("after the loss"));
  EXPECT_EQ(good.infer({{2, kWidth}, {7}}).size(), 2U);
}

}  // namespace
}  // namespace penstock
