// A stage on its own: the recompute modes and the halves of backward give the same bits, and the
// memory of mode Stage is what GPipe promises.
#include "runtime/network/stage/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "kernels/bfloat16.h"
#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/attention.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"

namespace penstock {
namespace {

constexpr int64_t kBatch = 4;
constexpr int64_t kTime = 32;
constexpr int64_t kModelWidth = 64;
constexpr uint64_t kSeed = 5;

// Two pre-norm Transformer blocks with dropout: shapes as inside a network.
Layers blocks() {
  Layers layers;
  for (int i = 0; i < 2; ++i) {
    const std::string name = "blocks." + std::to_string(i);
    Layers attention;
    attention.push_back(std::make_unique<LayerNorm>(name + ".norm1", kModelWidth));
    attention.push_back(std::make_unique<SelfAttention>(
        name + ".attention",
        SelfAttention::Options{.width = kModelWidth, .heads = 4, .dropout = 0.1}));
    Layers feed;
    feed.push_back(std::make_unique<LayerNorm>(name + ".norm2", kModelWidth));
    feed.push_back(std::make_unique<FeedForward>(
        name + ".feed_forward",
        FeedForward::Options{
            .width = kModelWidth, .hidden = 4 * kModelWidth, .activation = Activation::Gelu}));
    feed.push_back(std::make_unique<Dropout>(name + ".dropout", 0.1));
    Layers both;
    both.push_back(std::make_unique<Residual>(name + ".residual1", std::move(attention)));
    both.push_back(std::make_unique<Residual>(name + ".residual2", std::move(feed)));
    layers.push_back(std::make_unique<Group>(name, "block", std::move(both)));
  }
  return layers;
}

// A stage in the middle of a network, and the data that reach it.
class Middle {
 public:
  Middle(RecomputeMode mode, int micro_batches, const StagePlace& place = {},
         DType dtype = DType::F32)
      : device_(make_cpu_device(1)),
        layers_(blocks()),
        stage_(layers_, mode, micro_batches, dtype, *device_, place),
        mode_(mode),
        dtype_(dtype) {
    stage_.allocate(kSeed);
    if (dtype == DType::BF16 && !device_->native_bf16()) round_matrices();
    stage_.begin_step();
  }

  Device& device() { return *device_; }
  Stage& stage() { return stage_; }

  MicroBatch micro_batch(int m) const {
    MicroBatch micro_batch;
    micro_batch.pass.seed = kSeed;
    micro_batch.pass.step = 1;
    micro_batch.index = m;
    return micro_batch;
  }
  Tensors noise(uint64_t what, int m) {
    Tensor t = device_->empty({kBatch, kTime, kModelWidth}, DType::F32, Purpose::Activations);
    const RandomStream stream = random_stream(kSeed, what, static_cast<uint64_t>(m));
    auto values = t.span<float>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = uniform_of(philox(stream, i)[0]) - 0.5F;
    if (dtype_ == DType::F32) return {t};
    Tensor narrow = device_->empty(t.shape(), dtype_, Purpose::Activations);
    device_->pointwise().copy(narrow, t);
    return {narrow};
  }
  void forward(int m) {
    const Tensors out = stage_.forward(micro_batch(m), noise(1, m), mode_ == RecomputeMode::None);
    keep(out);
  }
  void backward(int m, bool halves) {
    if (mode_ != RecomputeMode::None) stage_.recompute(micro_batch(m));
    if (!halves) {
      keep(stage_.backward(micro_batch(m), noise(2, m)));
    } else {
      keep(stage_.backward_input(micro_batch(m), noise(2, m)));
      stage_.backward_weight(micro_batch(m));
    }
  }
  // Everything that left the stage.
  const std::vector<float>& seen() const { return seen_; }
  // The same, and the gradients.
  std::vector<float> results() {
    const auto gradients = stage_.weights().gradients().all().span<float>();
    seen_.insert(seen_.end(), gradients.begin(), gradients.end());
    return seen_;
  }

 private:
  void keep(const Tensors& tensors) {
    for (const Tensor& tensor : tensors) {
      if (!tensor) continue;
      Tensor wide = device_->empty(tensor.shape(), DType::F32, Purpose::Workspace);
      device_->pointwise().copy(wide, tensor);
      const auto values = wide.span<float>();
      seen_.insert(seen_.end(), values.begin(), values.end());
    }
  }
  // Rounds the matrices to bf16, as a processor with bf16 products does at each of them. One
  // without reads fp32 masters as they are, which are bf16 numbers here, as those of published
  // networks are.
  void round_matrices() {
    for (Parameter& parameter : stage_.weights().set().declared().parameters) {
      Tensor value = parameter.weight.value();
      if (!parameter.only_rounded || value.dtype() == DType::BF16) continue;
      for (float& number : value.span<float>()) number = bfloat16(number);
      parameter.weight.changed();
    }
  }
  std::unique_ptr<Device> device_;
  Layers layers_;
  Stage stage_;
  RecomputeMode mode_;
  DType dtype_;
  std::vector<float> seen_;
};

std::vector<float> gpipe_step(RecomputeMode mode, bool halves) {
  Middle middle(mode, 3);
  for (int m = 0; m < 3; ++m) middle.forward(m);
  for (int m = 0; m < 3; ++m) middle.backward(m, halves);
  return middle.results();
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The first micro-batch overwrites what it can instead of adding to zeros; what it does not reach
// is zero all the same.
TEST(Stage, NothingOfTheLastStepIsLeftInTheGradients) {
  for (const bool halves : {false, true}) {
    Middle middle(RecomputeMode::None, 2);
    const auto gradients_of_a_step = [&](bool reached) {
      for (int m = 0; m < 2; ++m) middle.forward(m);
      for (int m = 0; m < 2 && reached; ++m) middle.backward(m, halves);
      for (int m = 0; m < 2 && !reached; ++m) {
        (void)middle.stage().backward(middle.micro_batch(m), {Tensor()});
      }
      const auto gradients = middle.stage().weights().gradients().all().span<float>();
      return std::vector<float>(gradients.begin(), gradients.end());
    };
    const auto begin_poisoned = [&] {
      middle.stage().begin_step();
      for (Parameter& p : middle.stage().weights().set().declared().parameters) {
        EXPECT_TRUE(p.stale) << p.name;
        std::ranges::fill(p.gradient.span<float>(), std::numeric_limits<float>::quiet_NaN());
      }
    };
    const std::vector<float> first = gradients_of_a_step(true);
    begin_poisoned();
    EXPECT_TRUE(same_bits(gradients_of_a_step(true), first));
    begin_poisoned();
    EXPECT_EQ(gradients_of_a_step(false), std::vector<float>(first.size(), 0.0F));
  }
}

TEST(Stage, RecomputeModesAndHalvesGiveTheSameBits) {
  const auto reference = gpipe_step(RecomputeMode::None, false);
  for (float value : reference) ASSERT_TRUE(std::isfinite(value));
  for (RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
    for (bool halves : {false, true}) {
      EXPECT_TRUE(same_bits(reference, gpipe_step(mode, halves)))
          << static_cast<int>(mode) << (halves ? " in halves" : " at once");
    }
  }
}

TEST(Stage, BackwardWithoutForwardOrTwiceForwardedIsRefused) {
  Middle middle(RecomputeMode::Stage, 2);
  middle.forward(0);
  EXPECT_THROW(middle.forward(0), Error);
  EXPECT_THROW(middle.backward(1, false), Error);
}

int64_t peak_activations(RecomputeMode mode, int micro_batches) {
  Middle middle(mode, micro_batches);
  Memory& memory = middle.device().memory();
  memory.reset_peaks();
  for (int m = 0; m < micro_batches; ++m) middle.forward(m);
  for (int m = 0; m < micro_batches; ++m) middle.backward(m, false);
  return memory.use().peak_of(Purpose::Activations);
}

// GPipe, section 2.3: O(N + L/K x N/M), the boundary inputs of all micro-batches and one
// micro-batch's internals.
TEST(Stage, RecomputedStageHoldsInputsOfAllAndInternalsOfOne) {
  const int64_t input = kBatch * kTime * kModelWidth * static_cast<int64_t>(sizeof(float));
  const int64_t internals = peak_activations(RecomputeMode::None, 1) - input;
  for (int micro_batches : {1, 4, 16, 64}) {
    const auto expected = static_cast<double>(micro_batches * input + internals);
    const auto measured =
        static_cast<double>(peak_activations(RecomputeMode::Stage, micro_batches));
    EXPECT_NEAR(measured / expected, 1.0, 0.05) << micro_batches << " micro-batches";
  }
  // The test above can tell: without recompute every micro-batch keeps its internals.
  EXPECT_GT(peak_activations(RecomputeMode::None, 4), 4 * (input + internals / 2));
}

TEST(Stage, RecomputedLayersHoldLessThanARecomputedStage) {
  EXPECT_LT(peak_activations(RecomputeMode::Layer, 1), peak_activations(RecomputeMode::Stage, 1));
}

// The internals that the bound speaks of, counted tensor by tensor: what the tape of one block
// keeps for backward, in multiples of one [batch, time, width] tensor.
TEST(Stage, TheTapeKeepsTheTensorsThatBackwardNeeds) {
  Middle middle(RecomputeMode::None, 1);
  Memory& memory = middle.device().memory();
  const int64_t before = memory.use().current_of(Purpose::Activations);
  middle.forward(0);
  const int64_t held = memory.use().current_of(Purpose::Activations) - before;
  const int64_t one = kBatch * kTime * kModelWidth * static_cast<int64_t>(sizeof(float));
  // Tensors of a block: input, q, k, v, attention out, first sum, hidden before GELU (4); then
  // per-row statistics of two norms and the attention. The outputs of norms and GELU are computed
  // again.
  const int64_t rows = kBatch * kTime * static_cast<int64_t>(sizeof(float));
  const int64_t per_block = 6 * one + 4 * one + 4 * rows + 4 * rows;
  EXPECT_NEAR(static_cast<double>(held) / static_cast<double>(2 * per_block), 1.0, 0.02);
}

TEST(Stage, EvaluationKeepsNothing) {
  Middle middle(RecomputeMode::Stage, 1);
  MicroBatch micro_batch = middle.micro_batch(0);
  micro_batch.pass.training = false;
  const int64_t before = middle.device().memory().use().current_of(Purpose::Activations);
  { const Tensors out = middle.stage().forward(micro_batch, middle.noise(1, 0), true); }
  EXPECT_EQ(middle.device().memory().use().current_of(Purpose::Activations), before);
}

TEST(Stage, RepeatedStepsAskTheSystemForNothing) {
  Middle middle(RecomputeMode::Stage, 2);
  const auto step = [&] {
    for (int m = 0; m < 2; ++m) middle.forward(m);
    for (int m = 0; m < 2; ++m) middle.backward(m, false);
  };
  step();
  step();
  const int64_t allocations = middle.device().memory().use().system_allocations;
  const int64_t primitives = middle.device().counts().primitives_created;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(middle.device().memory().use().system_allocations, allocations);
  EXPECT_EQ(middle.device().counts().primitives_created, primitives);
}

// ---- frozen parameters
// What a step leaves, apart: what left the stage, the gradients by name.
struct Left {
  std::vector<float> outputs, input_gradients;
  std::map<std::string, std::vector<float>> gradients;
  int64_t held_bytes = 0;  // activations, after the forwards
};
enum class Begin : uint8_t { Middle, Data, Untrained };

Left step_of(const std::vector<std::string>& freeze, RecomputeMode mode, bool halves,
             Begin begin = Begin::Middle, DType dtype = DType::F32) {
  Middle middle(mode, 2,
                {.freeze = freeze,
                 .first = begin != Begin::Middle,
                 .untrained = begin == Begin::Untrained ? size_t{1} : size_t{0}},
                dtype);
  Left left;
  Memory& memory = middle.device().memory();
  const int64_t before = memory.use().current_of(Purpose::Activations);
  for (int m = 0; m < 2; ++m) middle.forward(m);
  left.held_bytes = memory.use().current_of(Purpose::Activations) - before;
  left.outputs = middle.seen();
  for (int m = 0; m < 2; ++m) middle.backward(m, halves);
  left.input_gradients.assign(middle.seen().begin() + static_cast<ptrdiff_t>(left.outputs.size()),
                              middle.seen().end());
  for (const Parameter& parameter : middle.stage().weights().set().declared().parameters) {
    EXPECT_EQ(!parameter.gradient, parameter.frozen) << parameter.name;
    if (!parameter.gradient) continue;
    const auto values = parameter.gradient.span<float>();
    left.gradients[parameter.name] = {values.begin(), values.end()};
  }
  return left;
}

TEST(FrozenStage, GivesAllOthersTheSameGradients) {
  const Left all = step_of({}, RecomputeMode::None, false);
  const std::vector<std::string> freeze = {"*.norm1.*", "*.query.weight", "blocks.0.attention.*",
                                           "blocks.1.feed_forward.*"};
  for (RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
    for (bool halves : {false, true}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + (halves ? " in halves" : " at once"));
      const Left some = step_of(freeze, mode, halves);
      EXPECT_TRUE(same_bits(some.outputs, all.outputs));
      EXPECT_TRUE(same_bits(some.input_gradients, all.input_gradients));
      EXPECT_LT(some.gradients.size(), all.gradients.size());
      EXPECT_FALSE(some.gradients.contains("blocks.1.norm1.bias"));
      for (const auto& [name, gradient] : some.gradients) {
        EXPECT_TRUE(same_bits(gradient, all.gradients.at(name))) << name;
      }
    }
  }
}

// A frozen matrix in bf16 alone gives the bits of its fp32 master, which was rounded before each
// use: nothing that leaves the stage, and no gradient, is another.
TEST(FrozenStage, KeepsMatricesInBf16AndGivesTheSameBits) {
  const Left all = step_of({}, RecomputeMode::None, false, Begin::Middle, DType::BF16);
  EXPECT_FALSE(same_bits(all.outputs, step_of({}, RecomputeMode::None, false).outputs));
  const std::vector<std::string> freeze = {"*.norm1.*", "*.query.weight", "blocks.0.attention.*",
                                           "blocks.1.feed_forward.*"};
  for (RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
    for (bool halves : {false, true}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + (halves ? " in halves" : " at once"));
      const Left some = step_of(freeze, mode, halves, Begin::Middle, DType::BF16);
      EXPECT_TRUE(same_bits(some.outputs, all.outputs));
      EXPECT_TRUE(same_bits(some.input_gradients, all.input_gradients));
      for (const auto& [name, gradient] : some.gradients) {
        EXPECT_TRUE(same_bits(gradient, all.gradients.at(name))) << name;
      }
    }
  }
}

// Two bytes a number of what is frozen and only multiplied, with no copy beside them; what is
// trained, added or shared is fp32 as ever, and so is all in an fp32 computation.
TEST(FrozenStage, TakesTwoBytesForANumberOfAMatrix) {
  const std::vector<std::string> freeze = {"*"};
  const auto bytes = [&](std::span<const std::string> frozen, DType dtype) {
    Middle middle(RecomputeMode::None, 1, {.freeze = frozen}, dtype);
    middle.forward(0);
    middle.backward(0, false);
    for (const Parameter& p : middle.stage().weights().set().declared().parameters) {
      const bool narrow = p.frozen && p.kind == ParameterKind::Matrix && dtype == DType::BF16;
      EXPECT_EQ(p.weight.value().dtype(), narrow ? DType::BF16 : DType::F32) << p.name;
    }
    const MemoryUse use = middle.device().memory().use();
    return use.current_of(Purpose::Parameters) + use.current_of(Purpose::Workspace);
  };
  constexpr int64_t kMatrices = 2 * 12 * kModelWidth * kModelWidth;
  const bool native = make_cpu_device(1)->native_bf16();
  EXPECT_EQ(bytes({}, DType::BF16) - bytes(freeze, DType::BF16), (native ? 4 : 2) * kMatrices);
  EXPECT_EQ(bytes({}, DType::F32), bytes(freeze, DType::F32));
}

// The first block frozen, behind data: nothing of it is kept, differentiated or run again.
TEST(FrozenStage, HasNoBackwardBeforeTheFirstTrainedLayer) {
  const Left all = step_of({}, RecomputeMode::None, false, Begin::Data);
  const int64_t one = kBatch * kTime * kModelWidth * static_cast<int64_t>(sizeof(float));
  for (RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
    for (bool halves : {false, true}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + (halves ? " in halves" : " at once"));
      const Left some = step_of({"blocks.0.*"}, mode, halves, Begin::Untrained);
      EXPECT_TRUE(same_bits(some.outputs, all.outputs));
      EXPECT_TRUE(some.input_gradients.empty());
      EXPECT_EQ(some.gradients.size(), all.gradients.size() / 2);
      for (const auto& [name, gradient] : some.gradients) {
        EXPECT_TRUE(same_bits(gradient, all.gradients.at(name))) << name;
      }
      if (mode == RecomputeMode::None) {
        EXPECT_NEAR(static_cast<double>(some.held_bytes), 0.5 * static_cast<double>(all.held_bytes),
                    0.05 * static_cast<double>(all.held_bytes));
      } else {
        EXPECT_EQ(some.held_bytes, 2 * one)
            << "the input of the second block, of two micro-batches";
      }
    }
  }
}

// A stage that trains nothing behind others that do not: every verb of the schedule still fits.
TEST(FrozenStage, MayTrainNothingAtAll) {
  for (RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
    for (bool halves : {false, true}) {
      const std::vector<std::string> all = {"*"};
      Middle middle(mode, 1, {.freeze = all, .first = true, .untrained = 2});
      middle.forward(0);
      int started = 0;
      middle.stage().weights().begin_reduction(
          [&started](const Tensor&, std::span<const int64_t>) { ++started; });
      middle.backward(0, halves);
      EXPECT_EQ(middle.stage().weights().gradients().all().elements(), 0);
      EXPECT_EQ(started, 0) << "there is nothing to add up";
    }
  }
}

// The bucket that holds the trained layer's gradients begins with the frozen one: it is ready all
// the same.
TEST(FrozenStage, HandsOverItsBucket) {
  for (RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
    for (bool halves : {false, true}) {
      const std::vector<std::string> block = {"blocks.0.*"};
      Middle middle(mode, 1, {.freeze = block, .first = true, .untrained = 1});
      middle.forward(0);
      int64_t summed = 0;
      middle.stage().weights().begin_reduction(
          [&summed](const Tensor& bucket, std::span<const int64_t>) {
            summed += bucket.elements();
          });
      middle.backward(0, halves);
      EXPECT_EQ(summed, middle.stage().weights().gradients().all().elements());
      EXPECT_GT(summed, 0);
    }
  }
}

// Moving mean and variance after a step of one micro-batch, before which came `left_out` others
// that were not ended, as one whose loss is not finite is not.
std::vector<float> statistics_after(int left_out) {
  const auto device = make_cpu_device(1);
  Layers layers;
  layers.push_back(std::make_unique<BatchNorm>("norm", 3, BatchNorm::Options{}));
  Stage stage(layers, RecomputeMode::None, 1, DType::F32, *device);
  stage.allocate(kSeed);
  for (int step = 0; step <= left_out; ++step) {
    stage.begin_step();
    Tensor x = device->empty({4, 3}, DType::F32, Purpose::Activations);
    for (size_t i = 0; i < 12; ++i) x.span<float>()[i] = static_cast<float>(i * i % 7);
    MicroBatch micro_batch;
    micro_batch.index = 0;
    Tensors y = stage.forward(micro_batch, {x}, true);
    (void)stage.backward(micro_batch, std::move(y));
  }
  stage.end_step(1);
  std::vector<float> all;
  for (const Buffer& buffer : stage.weights().set().declared().buffers) {
    for (const float value : buffer.value.span<float>()) all.push_back(value);
  }
  return all;
}

TEST(StepsLeftOut, CountForNoStatistics) {
  EXPECT_EQ(statistics_after(0).size(), 6U);
  EXPECT_EQ(statistics_after(2), statistics_after(0));
}

}  // namespace
}  // namespace penstock
