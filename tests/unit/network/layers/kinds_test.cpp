// What every kind of layer says of itself: shapes in and out, parameters, refusals that name the
// layer; and that its forward does what infer() promised.
#include "kernels/counting/counting_device.h"
#include "runtime/network/layers/library/attention.h"
#include "runtime/network/layers/library/cell.h"
#include "runtime/network/layers/library/embedding.h"
#include "runtime/network/layers/library/experts.h"
#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

struct Kind {
  std::string kind;
  std::function<std::unique_ptr<Layer>()> make;
  Shape input, output;
  std::vector<std::string> parameters;  // "name [shape]"
  std::vector<Shape> refused;
  double flops = 0.0;  // of a forward: products, then what passes over elements take
};

constexpr const char* kName = "blocks.3.it";

template <class L, class... Args>
std::function<std::unique_ptr<Layer>()> maker(Args... args) {
  return [=] { return std::make_unique<L>(kName, args...); };
}

const std::vector<Kind> kKinds = {
    {"linear",
     maker<Linear>(Linear::Options{.in = 6, .out = 4, .activation = Activation::Gelu}),
     {2, 3, 6},
     {2, 3, 4},
     {"weight [4, 6]", "bias [4]"},
     {{6}, {2, 5}, {2, 6, 3}},
     2.0 * 6 * 6 * 4 + 8 * 6 * 4},
    {"linear",
     maker<Linear>(Linear::Options{.in = 6, .out = 4, .bias = false}),
     {2, 6},
     {2, 4},
     {"weight [4, 6]"},
     {{2, 7}},
     2.0 * 2 * 6 * 4},
    {"feed-forward",
     maker<FeedForward>(FeedForward::Options{.width = 6, .hidden = 10}),
     {2, 3, 6},
     {2, 3, 6},
     {"in.weight [10, 6]", "in.bias [10]", "out.weight [6, 10]", "out.bias [6]"},
     {{2, 3, 10}, {6}},
     4.0 * 6 * 6 * 10},
    // Six rows, each to two experts.
    {"experts",
     maker<Experts>(Experts::Options{.width = 6, .hidden = 10, .experts = 4, .chosen = 2}),
     {2, 3, 6},
     {2, 3, 6},
     {"router.weight [4, 6]", "gate.weight [4, 10, 6]", "in.weight [4, 10, 6]",
      "out.weight [4, 6, 10]"},
     {{2, 3, 10}, {6}},
     2.0 * 6 * 6 * 4 + 6.0 * 6 * 4 + 2.0 * 4 + 3 * 2.0 * 12 * 6 * 10 + 9.0 * 12 * 10 +
         2.0 * 12 * 6},
    {"experts",
     maker<Experts>(Experts::Options{.width = 6,
                                     .hidden = 10,
                                     .experts = 4,
                                     .chosen = 4,
                                     .score = RouterScore::Sigmoid,
                                     .shared_hidden = 8,
                                     .shared_gate = true}),
     {2, 6},
     {2, 6},
     {"router.weight [4, 6]", "gate.weight [4, 10, 6]", "in.weight [4, 10, 6]",
      "out.weight [4, 6, 10]", "shared.gate.weight [8, 6]", "shared.in.weight [8, 6]",
      "shared.out.weight [6, 8]", "shared_gate.weight [1, 6]"},
     {{2, 7}},
     2.0 * 2 * 6 * 4 + 8.0 * 2 * 4 + 2.0 * 4 + 3 * 2.0 * 8 * 6 * 10 + 9.0 * 8 * 10 + 2.0 * 8 * 6 +
         3 * 2.0 * 2 * 6 * 8 + 9.0 * 2 * 8 + 2.0 * 2 * 6 + 2 * 6 + 2 * 6},
    {"self-attention",
     maker<SelfAttention>(SelfAttention::Options{.width = 6, .heads = 2, .causal = false}),
     {2, 3, 6},
     {2, 3, 6},
     {"query.weight [6, 6]", "query.bias [6]", "key.weight [6, 6]", "key.bias [6]",
      "value.weight [6, 6]", "value.bias [6]", "output.weight [6, 6]", "output.bias [6]"},
     {{2, 6}, {2, 3, 5}, {2, 3, 3, 6}},
     4 * 2.0 * 6 * 6 * 6 + 2 * 2.0 * 2 * 3 * 3 * 6 + 5 * 2 * 2 * 3 * 3},
    {"self-attention",
     maker<SelfAttention>(SelfAttention::Options{.width = 6, .heads = 3, .bias = false}),
     {1, 4, 6},
     {1, 4, 6},
     {"query.weight [6, 6]", "key.weight [6, 6]", "value.weight [6, 6]", "output.weight [6, 6]"},
     {{2, 3, 5}},
     4 * 2.0 * 4 * 6 * 6 + 0.5 * 2 * 2.0 * 4 * 4 * 6 + 0.5 * 5 * 3 * 4 * 4},
    {"conv2d",
     maker<Conv2d>(Conv2d::Options{.in = 4, .out = 6, .window = same_window(3, 3, 2), .groups = 2}),
     {2, 5, 7, 4},
     {2, 3, 4, 6},
     {"weight [6, 2, 3, 3]", "bias [6]"},
     {{2, 5, 7, 3}, {2, 5, 4}, {5, 7, 4}},
     2.0 * (2 * 3 * 4 * 6) * 2 * 9},
    {"conv2d",
     maker<Conv2d>(Conv2d::Options{
         .in = 2, .out = 3, .window = {.kernel_h = 4, .kernel_w = 1}, .bias = false, .relu = true}),
     {1, 6, 2, 2},
     {1, 3, 2, 3},
     {"weight [3, 2, 4, 1]"},
     {{1, 3, 2, 2}},  // the window is higher than the image
     2.0 * (3 * 2 * 3) * 2 * 4},
    {"max-pool",
     maker<Pool2d>(same_window(3, 3, 2), Pool::Max),
     {2, 5, 6, 3},
     {2, 3, 3, 3},
     {},
     {{2, 5, 6}},
     9.0 * 2 * 3 * 3 * 3},
    {"average-pool",
     maker<Pool2d>(Window{.kernel_h = 2, .kernel_w = 3, .stride_h = 2, .stride_w = 3},
                   Pool::Average),
     {2, 5, 6, 3},
     {2, 2, 2, 3},
     {},
     {{2, 6}, {2, 1, 6, 3}},
     6.0 * 2 * 2 * 2 * 3},
    {"up-convolution",
     maker<UpConvolution>(int64_t{3}, int64_t{2}),
     {2, 3, 4, 3},
     {2, 6, 8, 2},
     {"weight [8, 3, 1, 1]"},
     {{2, 3, 4, 5}, {2, 3}},
     2.0 * 2 * 3 * 4 * 3 * 8},
    {"upsample",
     maker<Upsample2d>(Enlarging{.scale_h = 2, .scale_w = 3, .kind = Upsample::Bilinear}),
     {2, 3, 4, 3},
     {2, 6, 12, 3},
     {},
     {{2, 3}},
     7.0 * 2 * 6 * 12 * 3},
    {"conv2d-transpose",
     maker<ConvTranspose2d>(ConvTranspose2d::Options{.in = 4,
                                                     .out = 6,
                                                     .window = {3, 2, 2, 2, 1, 1, 0, 0},
                                                     .output_padding_h = 1,
                                                     .groups = 2}),
     {2, 3, 4, 4},
     {2, 6, 8, 6},
     {"weight [4, 3, 3, 2]", "bias [6]"},
     {{2, 3, 4, 6}, {2, 3}},
     2.0 * (2 * 3 * 4 * 4) * 3 * 3 * 2 + 2 * 6 * 8 * 6},
    {"factorized-reduction",
     maker<FactorizedReduction>(int64_t{3}, int64_t{4}),
     {2, 4, 6, 3},
     {2, 2, 3, 4},
     {"even.weight [2, 3, 1, 1]", "odd.weight [2, 3, 1, 1]"},
     {{2, 4, 6, 5}, {2, 3}},
     2 * 2.0 * 2 * 2 * 3 * 3 * 2},
    {"global-pool", maker<GlobalPool>(), {2, 5, 6, 3}, {2, 3}, {}, {{2, 3}}, 2.0 * 5 * 6 * 3},
    {"flatten", maker<Flatten>(), {2, 5, 6, 3}, {2, 90}, {}, {{5}}},
    {"layer-norm",
     maker<LayerNorm>(int64_t{6}),
     {2, 3, 6},
     {2, 3, 6},
     {"weight [6]", "bias [6]"},
     {{2, 3, 5}, {6}},
     7.0 * 2 * 3 * 6},
    {"batch-norm",
     maker<BatchNorm>(int64_t{6}, BatchNorm::Options{}),
     {2, 3, 3, 6},
     {2, 3, 3, 6},
     {"weight [6]", "bias [6]"},
     {{2, 3, 5}, {6}},
     7.0 * 2 * 3 * 3 * 6 + kNormSums * 6},  // and the sums of the mini-batch
    {"activation", maker<ActivationLayer>(Activation::Silu), {2, 3}, {2, 3}, {}, {}, 8.0 * 6},
    {"scale", maker<Scale>(0.5F), {2, 3}, {2, 3}, {}, {}, 6.0},
    {"dropout", maker<Dropout>(0.5), {2, 3}, {2, 3}, {}, {}, 2.0 * 6},
    {"drop-path", maker<DropPath>(DropPath::Options{.rate = 0.5}), {8, 3}, {8, 3}, {}, {}, 24.0},
};

// The FLOPs of one forward, by the device that computes nothing.
double counted_flops(const std::unique_ptr<Layer>& layer, const Shape& input) {
  const auto device = make_counting_device(device_model_named("cpu"));
  Stage stage(std::span(&layer, 1), RecomputeMode::None, 1, DType::F32, *device);
  stage.allocate(1);
  const double before = device->count().flops;
  (void)stage.forward({}, {device->empty(input, DType::F32, Purpose::Activations)}, true);
  return device->count().flops - before;
}

TEST(Kinds, SayWhatTheyTakeGiveAndOwn) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.kind);
    const auto layer = kind.make();
    EXPECT_EQ(layer->kind(), kind.kind);
    EXPECT_EQ(layer->name(), kName);
    const Shapes out = layer->infer({kind.input});
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].text(), kind.output.text());
    EXPECT_EQ(counted_flops(layer, kind.input), kind.flops);
    EXPECT_TRUE(layer->reads().empty());
    ParameterSet set;
    layer->declare(set);
    std::vector<std::string> parameters;
    int64_t elements = 0;
    for (const Parameter& p : set.declared().parameters) {
      parameters.push_back(p.name.substr(std::string(kName).size() + 1) + " " + p.shape.text());
      EXPECT_EQ(p.name.rfind(kName, 0), 0U) << p.name;
      EXPECT_FALSE(p.weight.value()) << "declare() allocates nothing";
      elements += p.shape.elements();
    }
    EXPECT_EQ(parameters, kind.parameters);
    EXPECT_EQ(set.declared().elements(), elements);
  }
}

// Messages about images have the order of run files, and those of windows height and width alone.
testing::Matcher<std::string> tells(const Shape& shape, const Kind& kind) {
  if (shape.rank() != 4 || kind.input.rank() != 4) return HasSubstr(shape.text());
  return testing::AnyOf(HasSubstr(image_text(shape)),
                        HasSubstr("images " + std::to_string(shape[1]) + " high and " +
                                  std::to_string(shape[2]) + " wide"));
}

TEST(Kinds, RefuseOtherShapesByName) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.kind);
    const auto layer = kind.make();
    const std::string start = "layer '" + std::string(kName);
    std::vector<std::vector<Shape>> refused = {{kind.input, kind.input}, {}};
    for (const Shape& shape : kind.refused) refused.push_back({shape});
    for (const std::vector<Shape>& list : refused) {
      const Shapes shapes(list.begin(), list.end());
      const std::string what = message_of([&] { (void)layer->infer(shapes); });
      EXPECT_EQ(what.rfind(start, 0), 0U) << what;
      if (shapes.size() == 1) {
        EXPECT_THAT(what, tells(shapes[0], kind));
      }
    }
  }
}

TEST(Kinds, ForwardGivesWhatInferPromised) {
  for (const Kind& kind : kKinds) {
    for (bool training : {true, false}) {
      SCOPED_TRACE(kind.kind);
      SmallNetwork network(layers_of(kind.make()));
      const Tensors out = network.stage().forward(network.micro_batch(0, training),
                                                  {network.random(kind.input, 1)}, true);
      ASSERT_EQ(out.size(), 1U);
      EXPECT_EQ(out[0].shape().text(), kind.output.text());
      bool any = false;
      for (double value : numbers_of(out[0])) {
        ASSERT_TRUE(std::isfinite(value));
        any = any || value != 0.0;
      }
      EXPECT_TRUE(any);
    }
  }
}

template <class L, class Options>
std::string option_refusal(const Options& options) {
  return message_of([&] { const L layer("net.it", options); });
}

TEST(Kinds, RefuseOptionsThatMakeNoLayer) {
  using Attention = SelfAttention::Options;
  using Conv = Conv2d::Options;
  const std::string named = "layer 'net.it'";
  for (const std::string& what : {
           option_refusal<Linear>(Linear::Options{.in = 0, .out = 4}),
           option_refusal<Linear>(Linear::Options{.in = 4, .out = 0}),
           option_refusal<Conv2d>(Conv{.in = 4, .out = 6, .window = {}, .groups = 3}),
           option_refusal<Conv2d>(Conv{.in = 4, .out = 6, .window = {}, .groups = 0}),
           option_refusal<Conv2d>(Conv{.in = 0, .out = 6, .window = {}}),
           option_refusal<Experts>(
               Experts::Options{.width = 4, .hidden = 4, .experts = 2, .chosen = 3}),
           option_refusal<Experts>(
               Experts::Options{.width = 4, .hidden = 0, .experts = 2, .chosen = 1}),
           option_refusal<Experts>(Experts::Options{
               .width = 4, .hidden = 4, .experts = 2, .chosen = 1, .shared_gate = true}),
           option_refusal<Experts>(Experts::Options{
               .width = 4, .hidden = 4, .experts = 2, .chosen = 1, .balance_rate = 0.1}),
           option_refusal<Dropout>(1.0),
           option_refusal<Dropout>(-0.1),
           option_refusal<Dropout>(std::nan("")),
           option_refusal<DropPath>(DropPath::Options{.rate = 1.0}),
           option_refusal<DropPath>(DropPath::Options{.rate = 0.5, .ramp_steps = -1}),
           option_refusal<SelfAttention>(Attention{.width = 6, .heads = 4}),
           option_refusal<SelfAttention>(Attention{.width = 6, .heads = 0}),
           option_refusal<SelfAttention>(Attention{.width = 6, .heads = 2, .dropout = 1.0}),
           option_refusal<Embedding>(Embedding::Options{.vocabulary = 0, .width = 4, .context = 4}),
           option_refusal<ClassifierLoss>(ClassifierLoss::Options{.width = 4, .classes = 1}),
       }) {
    EXPECT_EQ(what.rfind(named, 0), 0U) << what;
  }
  for (int64_t classes : {0, 1}) {
    EXPECT_THAT(
        option_refusal<ClassifierLoss>(ClassifierLoss::Options{.width = 4, .classes = classes}),
        HasSubstr("at least 2 classes"));
  }
  EXPECT_EQ(option_refusal<Dropout>(0.0), "nothing was thrown");
  EXPECT_EQ(option_refusal<SelfAttention>(Attention{.width = 6, .heads = 3}), "nothing was thrown");
  EXPECT_EQ(option_refusal<CrossAttention>(Attention{.width = 6, .heads = 3}),
            "nothing was thrown");
  for (const Attention& options :
       {Attention{.width = 6, .rotary = RotaryOptions{}, .context = 4},
        Attention{.width = 6, .query_key_norm = 1e-5F}, Attention{.width = 6, .window = 2},
        Attention{.width = 6, .starts = "starts"}}) {
    EXPECT_THAT(option_refusal<CrossAttention>(options), HasSubstr("are for self-attention"));
  }
}

TEST(Kinds, SameWindowsKeepTheExtentOverTheStride) {
  for (int kernel : {1, 3, 5, 7}) {
    for (int stride : {1, 2, 3}) {
      for (int64_t extent : {7, 8, 9, 32}) {
        const Shape out =
            window_output({1, extent, extent, 1}, same_window(kernel, kernel, stride), 1);
        EXPECT_EQ(out[1], (extent + stride - 1) / stride) << kernel << ", " << stride;
      }
    }
  }
  // An even kernel has one more row after than before, and keeps the extent too.
  EXPECT_EQ(window_output({1, 9, 9, 1}, same_window(4, 2, 1), 1), Shape({1, 9, 9, 1}));
}

TEST(Kinds, ActivationsByName) {
  EXPECT_EQ(activation_named("relu"), Activation::Relu);
  EXPECT_EQ(activation_named("gelu"), Activation::Gelu);
  EXPECT_EQ(activation_named("gelu-tanh"), Activation::GeluTanh);
  EXPECT_EQ(activation_named("silu"), Activation::Silu);
  EXPECT_EQ(activation_named("tanh"), Activation::Tanh);
  EXPECT_EQ(activation_named("none"), std::nullopt);
  EXPECT_THAT(message_of([] { (void)activation_named("swish"); }), HasSubstr("'swish'"));
}

TEST(ParameterSets, RefuseANameTwiceAndKeepAddresses) {
  ParameterSet set;
  const Slot slot, buffer, repeated;
  std::array<Slot, 100> others;
  Parameter& first = set.add(slot, "a.weight", {2, 3}, {});
  set.add_buffer(buffer, "a.running_mean", {3}, 0.0F);
  for (size_t i = 0; i < others.size(); ++i) {
    (void)set.add(others[i], "b." + std::to_string(i), {1}, {});
  }
  EXPECT_EQ(&first, &set.parameter(slot));
  EXPECT_EQ(set.parameter(others[99]).name, "b.99");
  EXPECT_EQ(set.buffer(buffer).name, "a.running_mean");
  EXPECT_EQ(&first, &set.declared().parameters.front());
  EXPECT_EQ(set.declared().elements(), 106) << "buffers are not trained";
  for (const char* name : {"a.weight", "a.running_mean"}) {
    EXPECT_THAT(message_of([&] { (void)set.add(repeated, name, {1}, {}); }), HasSubstr(name));
    EXPECT_THAT(message_of([&] { (void)set.add_buffer(repeated, name, {1}, 0.0F); }),
                HasSubstr(name));
  }
}

}  // namespace
}  // namespace penstock
