// The classifier whose logits are computed some rows at a time, in a stage: every mode of
// recompute, halves apart, what is frozen, logits that somebody looks at, and the memory that it
// takes.
#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/loss.h"
#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

constexpr size_t kFeatures = 4;
constexpr size_t kAnswers = 5;
const std::vector<int32_t> kTargets = {2, -1, 0, 4, 3, -100};

std::unique_ptr<Layer> in_pieces(int64_t rows_at_once) {
  return std::make_unique<ClassifierLoss>("classifier",
                                          ClassifierLoss::Options{.width = kFeatures,
                                                                  .classes = kAnswers,
                                                                  .scale = 0.5F,
                                                                  .loss = {.label_smoothing = 0.1F},
                                                                  .rows_at_once = rows_at_once});
}

// What a step of three micro-batches leaves: losses, gradients of the inputs, gradients of the
// parameters. The classifier stands behind a linear layer, so that modes differ.
Numbers trained_step(RecomputeMode mode, bool halves, int64_t rows_at_once,
                     const std::vector<std::string>& freeze = {}) {
  constexpr int kMicroBatches = 3;
  Layers layers = layers_of(
      std::make_unique<Linear>("linear", Linear::Options{.in = kFeatures, .out = kFeatures}));
  layers.push_back(in_pieces(rows_at_once));
  SmallNetwork network(std::move(layers), kMicroBatches, mode, freeze);
  network.set_labels(network.integers({6}, kTargets));
  Stage& stage = network.stage();
  Numbers all;
  const auto keep = [&](const Tensor& t) {
    for (double number : numbers_of(t)) all.push_back(number);
  };
  for (int m = 0; m < kMicroBatches; ++m) {
    const MicroBatch batch = network.micro_batch(m);
    const bool keep_tape = mode == RecomputeMode::None;
    (void)stage.forward(batch, {network.random({6, kFeatures}, 1 + static_cast<uint64_t>(m))},
                        keep_tape);
    if (!keep_tape) stage.recompute(batch);
    keep(halves ? stage.backward_input(batch, {})[0] : stage.backward(batch, {})[0]);
  }
  for (int m = 0; m < kMicroBatches && halves; ++m) stage.backward_weight(network.micro_batch(m));
  for (int m = 0; m < kMicroBatches; ++m) {
    for (double number : stage.losses(m).loss.span<double>()) all.push_back(number);
  }
  keep(stage.weights().gradients().all());
  return all;
}

// Modes and halves change no bit, in pieces as with all logits at once, whose numbers are the same
// but for rounding.
TEST(Classifiers, InPiecesHaveTheSameBitsInEveryModeAndInHalves) {
  for (const std::vector<std::string>& freeze :
       {std::vector<std::string>{}, {"classifier.weight"}, {"classifier.*"}, {"linear.*"}}) {
    const Numbers whole = trained_step(RecomputeMode::None, false, 0, freeze);
    const Numbers pieces = trained_step(RecomputeMode::None, false, 2, freeze);
    ASSERT_EQ(pieces.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(pieces[i], whole[i], 1e-5) << i;
    EXPECT_EQ(trained_step(RecomputeMode::None, false, 6, freeze), whole) << "one piece";
    for (const RecomputeMode mode :
         {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
      for (const bool halves : {false, true}) {
        EXPECT_EQ(trained_step(mode, halves, 2, freeze), pieces)
            << static_cast<int>(mode) << (halves ? ", halves" : "");
      }
    }
  }
}

// Where somebody looks at the logits they are computed as a whole, with the cap, too.
TEST(Classifiers, ShowAllLogits) {
  constexpr float kCap = 0.3F;
  SmallNetwork network(layers_of(
      std::make_unique<ClassifierLoss>("classifier", ClassifierLoss::Options{.width = kFeatures,
                                                                             .classes = kAnswers,
                                                                             .bias = false,
                                                                             .softcap = kCap,
                                                                             .rows_at_once = 2})));
  network.set_labels(network.integers({6}, kTargets));
  const Tensor x = network.random({6, kFeatures}, 1);
  const Numbers w = network.weight("classifier.weight");
  Numbers capped(6 * kAnswers);
  for (size_t i = 0; i < capped.size(); ++i) {
    for (size_t k = 0; k < kFeatures; ++k) {
      capped[i] += numbers_of(x)[i / kAnswers * kFeatures + k] * w[i % kAnswers * kFeatures + k];
    }
    capped[i] = kCap * std::tanh(capped[i] / kCap);
  }
  int shown = 0;
  const std::function<void(int, const Tensor&)> look = [&](int, const Tensor& logits) {
    expect_near(logits, capped, 1e-6);
    ++shown;
  };
  MicroBatch batch = network.micro_batch(0, false);
  (void)network.stage().forward(batch, {x}, false);
  const double alone = network.stage().losses(0).loss.data<double>()[0];
  batch.pass.logits = &look;
  (void)network.stage().forward(batch, {x}, false);
  EXPECT_EQ(shown, 1);
  EXPECT_NEAR(network.stage().losses(0).loss.data<double>()[0], alone, 1e-5);
}

// At most as much memory as a piece takes, whatever the number of rows.
TEST(Classifiers, InPiecesTakeTheMemoryOfOne) {
  constexpr int64_t kPiece = 8;
  constexpr int64_t kMany = 4096;
  const auto peak = [](int64_t rows) {
    SmallNetwork network(layers_of(std::make_unique<ClassifierLoss>(
        "classifier", ClassifierLoss::Options{
                          .width = 1, .classes = kMany, .bias = false, .rows_at_once = kPiece})));
    network.set_labels(network.integers({rows}, std::vector<int32_t>(static_cast<size_t>(rows))));
    const Tensor x = network.random({rows, 1}, 1);
    network.device().memory().reset_peaks();
    (void)network.stage().forward(network.micro_batch(0), {x}, true);
    (void)network.stage().backward(network.micro_batch(0), {});
    return network.device().memory().use().peak_of(Purpose::Activations);
  };
  EXPECT_GE(peak(2 * kPiece), kPiece * kMany * 4);
  EXPECT_LE(peak(16 * kPiece), peak(2 * kPiece) + 32 * (16 * kPiece));
}

}  // namespace
}  // namespace penstock
