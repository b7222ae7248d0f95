// Adapters: what they add, in double; the gradients of their two matrices and of the input against
// central differences of that; which parts of a layer have one.
#include "runtime/network/layers/adapter.h"

#include "runtime/network/layers/library/attention.h"
#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/pointwise.h"
#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kRows = 5, kIn = 6, kOut = 4;
constexpr double kDropout = 0.4;
const AdapterOptions kOptions = {.rank = 3, .alpha = 7.0};
const std::vector<std::string> kFrozen = {"*", "!*.lora_?"};

std::unique_ptr<Linear> adapted_linear(const AdapterOptions& adapter,
                                       std::optional<Activation> f = std::nullopt) {
  return std::make_unique<Linear>(
      "it", Linear::Options{.in = kIn, .out = kOut, .activation = f, .adapter = adapter});
}

// y [rows, out] = x [rows, in] w [out, in]^T
Numbers times_transposed(const Numbers& x, const Numbers& w, size_t in) {
  const size_t out = w.size() / in;
  Numbers y(x.size() / in * out, 0.0);
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t k = 0; k < in; ++k) y[i] += x[i / out * in + k] * w[i % out * in + k];
  }
  return y;
}

// The layer before its activation, in double. `kept`: what a dropout leaves of x.
struct Reference {
  Numbers x, kept, w, bias, a, b;

  [[nodiscard]] Numbers output() const {
    const auto rank = static_cast<size_t>(kOptions.rank);
    Numbers y = times_transposed(x, w, kIn);
    const Numbers added = times_transposed(times_transposed(kept, a, kIn), b, rank);
    const double factor = kOptions.alpha / static_cast<double>(kOptions.rank);
    for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i % kOut] + factor * added[i];
    return y;
  }
  // The derivative of sum(upstream y) by each of `numbers`, which are this one's own.
  [[nodiscard]] Numbers slopes(Numbers& numbers, const Numbers& upstream) const {
    constexpr double kStep = 1e-4;  // what is not linear in one number here is not there
    Numbers slopes;
    for (double& number : numbers) {
      const double here = number;
      const auto at = [&](double value) {
        number = value;
        const Numbers y = output();
        double sum = 0.0;
        for (size_t i = 0; i < y.size(); ++i) sum += upstream[i] * y[i];
        return sum;
      };
      slopes.push_back((at(here + kStep) - at(here - kStep)) / (2.0 * kStep));
      number = here;
    }
    return slopes;
  }
};

Reference reference_of(SmallNetwork& network, const Tensor& x) {
  return {numbers_of(x),
          numbers_of(x),
          network.weight("it.weight"),
          network.weight("it.bias"),
          network.weight("it.lora_a"),
          network.weight("it.lora_b")};
}

const Tensor& gradient(SmallNetwork& network, const std::string& name) {
  for (const Parameter& p : network.stage().weights().set().declared().parameters) {
    if (p.name == name) return p.gradient;
  }
  throw std::runtime_error("no parameter " + name);
}

TEST(Adapters, AddTheirProductTimesAlphaOverRank) {
  SmallNetwork network(layers_of(adapted_linear(kOptions)));
  const Tensor x = network.random({kRows, kIn}, 1);
  expect_near(network.evaluate(x)[0], reference_of(network, x).output(), 1e-5);
}

TEST(Adapters, AddInsideTheActivation) {
  for (const Activation f :
       {Activation::Relu, Activation::Tanh, Activation::Gelu, Activation::Silu}) {
    SmallNetwork network(layers_of(adapted_linear(kOptions, f)));
    SmallNetwork after(layers_of(std::make_unique<ActivationLayer>("f", f)));
    const Tensor x = network.random({kRows, kIn}, 1);
    const Numbers before = reference_of(network, x).output();
    Tensor y = after.random({kRows, kOut}, 1);
    std::copy(before.begin(), before.end(), y.data<float>());
    expect_near(network.evaluate(x)[0], numbers_of(after.evaluate(y)[0]), 1e-5);
  }
}

// Nothing but the adapters is differentiated, and the input is all the same.
TEST(Adapters, HaveTheGradientsThatDifferencesSay) {
  SmallNetwork network(layers_of(adapted_linear(kOptions)), 1, RecomputeMode::None, kFrozen);
  const Tensor x = network.random({kRows, kIn}, 1);
  const Tensor upstream = network.random({kRows, kOut}, 2);
  const MicroBatch micro_batch = network.micro_batch(0);
  (void)network.stage().forward(micro_batch, {x}, true);
  const Tensors dx = network.stage().backward(micro_batch, {upstream});
  Reference reference = reference_of(network, x);
  const Numbers g = numbers_of(upstream);
  expect_near(gradient(network, "it.lora_a"), reference.slopes(reference.a, g), 1e-4);
  expect_near(gradient(network, "it.lora_b"), reference.slopes(reference.b, g), 1e-4);
  Numbers by_x = reference.slopes(reference.x, g);
  const Numbers by_kept = reference.slopes(reference.kept, g);
  for (size_t i = 0; i < by_x.size(); ++i) by_x[i] += by_kept[i];
  expect_near(dx[0], by_x, 1e-4);
  EXPECT_FALSE(gradient(network, "it.weight"));
  EXPECT_FALSE(gradient(network, "it.bias"));
}

// What goes into the adapter, not what goes into the matrix; and not in evaluation.
TEST(Adapters, DropWhatGoesIntoThem) {
  AdapterOptions options = kOptions;
  options.dropout = kDropout;
  SmallNetwork network(layers_of(adapted_linear(options)), 1, RecomputeMode::None, kFrozen);
  SmallNetwork mask(layers_of(std::make_unique<Dropout>("it.lora_dropout", kDropout)));
  const Tensor x = network.random({kRows, kIn}, 1);
  const Tensor upstream = network.random({kRows, kOut}, 2);
  const MicroBatch micro_batch = network.micro_batch(0);
  Reference reference = reference_of(network, x);
  expect_near(network.evaluate(x)[0], reference.output(), 1e-5);
  reference.kept = numbers_of(mask.stage().forward(mask.micro_batch(0), {x}, true)[0]);
  ASSERT_NE(reference.kept, reference.x);
  expect_near(network.stage().forward(micro_batch, {x}, true)[0], reference.output(), 1e-5);
  (void)network.stage().backward(micro_batch, {upstream});
  expect_near(gradient(network, "it.lora_a"), reference.slopes(reference.a, numbers_of(upstream)),
              1e-4);
}

// Adapters start as peft's do: the first matrix is kaiming_uniform_(a=sqrt(5)), the second adds
// nothing yet.
TEST(Adapters, StartByAddingNothing) {
  ParameterSet set;
  adapted_linear(kOptions)->declare(set);
  const auto& parameters = set.declared().parameters;
  ASSERT_EQ(parameters.size(), 4U);
  const Parameter& a = parameters[2];
  EXPECT_EQ(a.shape, Shape({3, kIn}));
  EXPECT_EQ(a.init.kind, Initializer::Kind::Uniform);
  EXPECT_FLOAT_EQ(a.init.scale, static_cast<float>(1.0 / std::sqrt(6.0)));
  const Parameter& b = parameters[3];
  EXPECT_EQ(b.shape, Shape({kOut, 3}));
  EXPECT_EQ(b.init.kind, Initializer::Kind::Zeros);
}

std::vector<std::string> adapters_of(const Layer& layer) {
  ParameterSet set;
  layer.declare(set);
  std::vector<std::string> names;
  for (const Parameter& p : set.declared().parameters) {
    if (p.name.ends_with(".lora_a")) names.push_back(p.name);
  }
  return names;
}

TEST(Adapters, AreWhereTheyAreWanted) {
  const AdaptedParts parts = {kOptions, {"query", "output", "gate", "out"}};
  EXPECT_THAT(adapters_of(SelfAttention("a", {.width = 6, .heads = 2, .adapted = parts})),
              ElementsAre("a.query.lora_a", "a.output.lora_a"));
  EXPECT_THAT(adapters_of(SelfAttention("a", {.width = 6, .heads = 2})), ElementsAre());
  EXPECT_THAT(adapters_of(FeedForward("f", {.width = 6, .hidden = 8, .adapted = parts})),
              ElementsAre("f.out.lora_a"));
  EXPECT_THAT(adapters_of(GatedFeedForward("f", {.width = 6, .hidden = 8, .adapted = parts})),
              ElementsAre("f.gate.lora_a", "f.out.lora_a"));
}

// A device that joins product and activation must not do so where an adapter comes between.
TEST(Adapters, AddInAFeedForwardPair) {
  const AdaptedParts parts = {kOptions, {"in"}};
  const FeedForward::Options options = {
      .width = kIn, .hidden = 8, .activation = Activation::Gelu, .adapted = parts};
  SmallNetwork pair(layers_of(std::make_unique<FeedForward>("f", options)));
  SmallNetwork apart(
      layers_of(std::make_unique<Linear>(
                    "f.in",
                    Linear::Options{
                        .in = kIn, .out = 8, .activation = Activation::Gelu, .adapter = kOptions}),
                std::make_unique<Linear>("f.out", Linear::Options{.in = 8, .out = kIn})));
  const Tensor x = pair.random({kRows, kIn}, 1);
  expect_near(pair.evaluate(x)[0], numbers_of(apart.evaluate(x)[0]), 1e-6);
}

TEST(Adapters, RefuseWhatMakesNoSense) {
  const auto refused = [](const AdapterOptions& options) {
    return message_of([&] { (void)adapted_linear(options); });
  };
  EXPECT_THAT(refused({.rank = 0}), HasSubstr("'it' (linear): the rank of its adapter"));
  EXPECT_THAT(refused({.rank = 1, .dropout = 1.0}), HasSubstr("dropout"));
  EXPECT_THAT(refused({.rank = 1, .alpha = std::nan("")}), HasSubstr("alpha"));
}

}  // namespace
}  // namespace penstock
