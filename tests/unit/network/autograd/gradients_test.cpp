// Every function of functions.h: what it records on the tape is the derivative of what it computes,
// by central differences, in each of the ways that a backward can run.
#include "tests/unit/network/autograd/gradients.h"

namespace penstock {
namespace {

using Gradients = AutogradTest;

TEST_F(Gradients, Linear) {
  Parameter& weight = parameter({4, 3}, 1);
  Parameter& bias = parameter({4}, 2);
  for (Fused f : {Fused::None, Fused::Tanh}) {
    expect_gradients([&](Tape& t, const Variables& x) { return linear(t, x[0], weight, &bias, f); },
                     {random({2, 3, 3}, 3)});
  }
}

TEST_F(Gradients, LinearWithoutBias) {
  Parameter& weight = parameter({4, 3}, 1);
  expect_gradients([&](Tape& t, const Variables& x) { return linear(t, x[0], weight, nullptr); },
                   {random({5, 3}, 3)});
}

TEST_F(Gradients, Matmul) {
  expect_gradients([&](Tape& t, const Variables& x) { return matmul(t, x[0], x[1]); },
                   {random({2, 3, 4}, 1), random({2, 4, 5}, 2)});
}

constexpr Window kSame3 = {.kernel_h = 3,
                           .kernel_w = 3,
                           .stride_h = 2,
                           .stride_w = 1,
                           .pad_top = 1,
                           .pad_bottom = 1,
                           .pad_left = 1,
                           .pad_right = 1};

TEST_F(Gradients, Convolution) {
  Parameter& weight = parameter({4, 2, 3, 3}, 1);
  Parameter& bias = parameter({4}, 2);
  for (Fused f : {Fused::None, Fused::Tanh}) {
    expect_gradients(
        [&](Tape& t, const Variables& x) { return conv2d(t, x[0], weight, &bias, kSame3, 1, f); },
        {random({2, 5, 4, 2}, 3)});
  }
}

TEST_F(Gradients, ConvolutionInGroupsWithoutBias) {
  Parameter& weight = parameter({4, 1, 3, 3}, 1);
  expect_gradients(
      [&](Tape& t, const Variables& x) { return conv2d(t, x[0], weight, nullptr, kSame3, 4); },
      {random({1, 4, 4, 4}, 3)});
}

// The kink of a fused ReLU may lie anywhere; its gradients are those of the two functions apart,
// one of which is checked above and the other below.
TEST_F(Gradients, FusedReluIsTheTwoFunctionsApart) {
  Parameter& weight = parameter({6, 5}, 1);
  Parameter& bias = parameter({6}, 2);
  Parameter& filter = parameter({3, 2, 3, 3}, 4);
  const auto compare = [&](const Function& fused, const Function& apart, const Tensor& x,
                           const Shape& y) {
    const auto a = gradients(fused, {x}, random(y, 99), How::AtOnce);
    const auto b = gradients(apart, {x}, random(y, 99), How::AtOnce);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << i;
  };
  compare([&](Tape& t, const Variables& x) { return linear(t, x[0], weight, &bias, Fused::Relu); },
          [&](Tape& t, const Variables& x) {
            return activation(t, linear(t, x[0], weight, &bias), Activation::Relu);
          },
          random({7, 5}, 3), {7, 6});
  compare(
      [&](Tape& t, const Variables& x) {
        return conv2d(t, x[0], filter, nullptr, kSame3, 1, Fused::Relu);
      },
      [&](Tape& t, const Variables& x) {
        return activation(t, conv2d(t, x[0], filter, nullptr, kSame3, 1), Activation::Relu);
      },
      random({2, 5, 4, 2}, 5), {2, 3, 4, 3});
}

TEST_F(Gradients, FeedForwardIsItsFunctionsApart) {
  Parameter& in = parameter({6, 5}, 1);
  Parameter& in_bias = parameter({6}, 2);
  Parameter& out = parameter({4, 6}, 3);
  Parameter& out_bias = parameter({4}, 4);
  for (const Activation f : {Activation::Gelu, Activation::GeluTanh, Activation::Silu}) {
    const Function whole = [&](Tape& t, const Variables& x) {
      return feed_forward(t, x[0], in, &in_bias, out, &out_bias, f);
    };
    const Function apart = [&](Tape& t, const Variables& x) {
      return linear(t, activation(t, linear(t, x[0], in, &in_bias), f), out, &out_bias);
    };
    expect_gradients(whole, {random({2, 3, 5}, 5)});
    for (const How how : {How::AtOnce, How::Halves}) {
      const auto a = gradients(whole, {random({7, 5}, 6)}, random({7, 4}, 99), how);
      const auto b = gradients(apart, {random({7, 5}, 6)}, random({7, 4}, 99), how);
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << i;
    }
  }
}

TEST_F(Gradients, Pooling) {
  for (Pool kind : {Pool::Max, Pool::Average}) {
    expect_gradients([&](Tape& t, const Variables& x) { return pool2d(t, x[0], kSame3, kind); },
                     {scattered({1, 5, 4, 2})});
  }
  expect_gradients([&](Tape& t, const Variables& x) { return global_average(t, x[0]); },
                   {random({2, 3, 4, 3}, 1)});
}

TEST_F(Gradients, LayerNorm) {
  Parameter& gamma = parameter({6}, 1);
  Parameter& beta = parameter({6}, 2);
  for (Parameter* shift : {&beta, static_cast<Parameter*>(nullptr)}) {
    expect_gradients(
        [&](Tape& t, const Variables& x) { return layer_norm(t, x[0], gamma, shift, 1e-2F); },
        {scattered({2, 2, 6})});
  }
}

TEST_F(Gradients, RmsNorm) {
  Parameter& gamma = parameter({6}, 1);
  for (const float offset : {0.0F, 1.0F}) {
    expect_gradients(
        [&](Tape& t, const Variables& x) { return rms_norm(t, x[0], gamma, offset, 1e-2F); },
        {scattered({2, 2, 6})});
  }
}

// What the layers around it rely on, and compute again, is the same.
TEST_F(Gradients, GatedAfterRmsNorm) {
  Parameter& gamma = parameter({4}, 1);
  Parameter& gate = parameter({5, 4}, 2);
  Parameter& in = parameter({5, 4}, 3);
  Parameter& out = parameter({4, 5}, 4);
  expect_gradients(
      [&](Tape& t, const Variables& x) {
        const Variable normed = rms_norm(t, x[0], gamma, 1.0F, 1e-2F);
        const Variable opened = linear(t, normed, gate, nullptr);
        const Variable through = linear(t, normed, in, nullptr);
        return linear(t, gated(t, opened, through, Activation::Silu), out, nullptr);
      },
      {scattered({2, 3, 4})});
}

TEST_F(Gradients, Gated) {
  for (const Activation f : {Activation::Silu, Activation::GeluTanh}) {
    expect_gradients([&](Tape& t, const Variables& x) { return gated(t, x[0], x[1], f); },
                     {random({2, 7}, 1), random({2, 7}, 2)});
  }
}

TEST_F(Gradients, ClampedGate) {
  expect_gradients([&](Tape& t, const Variables& x) { return clamped_gate(t, x[0], x[1], 0.8F); },
                   {scattered({2, 7}), scattered({2, 7})});
}

TEST_F(Gradients, Rotary) {
  const Tensor table = random({4, 6}, 1);
  const Tensor places = integers({2, 3}, {3, 0, 1, 2, 2, 1});
  for (const Tensor* at : {&places, static_cast<const Tensor*>(nullptr)}) {
    for (const RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Neighbours}) {
      expect_gradients(
          [&](Tape& t, const Variables& x) { return rotary(t, x[0], table, at, pairs); },
          {random({2, 3, 12}, 2)});
    }
  }
}

TEST_F(Gradients, BatchNorm) {
  Parameter& gamma = parameter({3}, 1);
  Parameter& beta = parameter({3}, 2);
  Tensor sums = device().empty({kNormSums, 3}, DType::F32, Purpose::Workspace);
  expect_gradients(
      [&](Tape& t, const Variables& x) { return batch_norm(t, x[0], gamma, beta, 1e-2F, sums); },
      {scattered({2, 2, 2, 3})});
}

TEST_F(Gradients, Activations) {
  for (Activation f : {Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::Silu,
                       Activation::Tanh}) {
    expect_gradients([&](Tape& t, const Variables& x) { return activation(t, x[0], f); },
                     {scattered({3, 7})});
  }
}

TEST_F(Gradients, SumsAndProducts) {
  expect_gradients([](Tape& t, const Variables& x) { return add(t, x[0], x[1]); },
                   {random({3, 5}, 1), random({3, 5}, 2)});
  expect_gradients([](Tape& t, const Variables& x) { return multiply(t, x[0], x[1]); },
                   {random({3, 5}, 1), random({3, 5}, 2)});
  expect_gradients([](Tape& t, const Variables& x) { return scale(t, x[0], -1.75F); },
                   {random({3, 5}, 1)});
}

TEST_F(Gradients, Tables) {
  Parameter& table = parameter({5, 3}, 1);  // longer than the sequence: two rows are not used
  expect_gradients([&](Tape& t, const Variables& x) { return add_table(t, x[0], table, 3); },
                   {random({2, 3, 3}, 2)});
  const Tensor constant = random({3, 3}, 3);
  parameters_.clear();
  expect_gradients([&](Tape& t, const Variables& x) { return add_constant(t, x[0], constant); },
                   {random({2, 3, 3}, 2)});
}

TEST_F(Gradients, Dropout) {
  const RandomStream stream = random_stream(7, 8);
  expect_gradients([&](Tape& t, const Variables& x) { return dropout(t, x[0], 0.4F, stream); },
                   {random({4, 8}, 1)});
  expect_gradients(
      [&](Tape& t, const Variables& x) { return dropout_rows(t, x[0], 0.4F, stream, 3); },
      {random({8, 2, 3}, 1)});
}

TEST_F(Gradients, Layouts) {
  expect_gradients(
      [](Tape& t, const Variables& x) {
        return reshape(t, x[0], {6, 4});
      },
      {random({2, 3, 4}, 1)});
  const std::array<int, 4> order = {2, 0, 3, 1};  // not its own inverse
  expect_gradients([&](Tape& t, const Variables& x) { return transpose(t, x[0], order); },
                   {random({2, 3, 4, 5}, 1)});
  expect_gradients([](Tape& t, const Variables& x) { return concat(t, x, 1); },
                   {random({2, 1, 3}, 1), random({2, 4, 3}, 2), random({2, 2, 3}, 3)});
}

TEST_F(Gradients, SplitWithAnUnusedPart) {
  const std::array<int64_t, 3> extents = {2, 1, 3};
  expect_gradients(
      [&](Tape& t, const Variables& x) {
        const Variables parts = split(t, x[0], extents, 1);
        EXPECT_EQ(parts.size(), 3U);
        return multiply(t, parts[0], scale(t, parts[0], 2.0F));
      },
      {random({2, 6}, 1)});
}

TEST_F(Gradients, Softmax) {
  expect_gradients([](Tape& t, const Variables& x) { return softmax(t, x[0]); },
                   {random({3, 5}, 1)});
}

TEST_F(Gradients, Attention) {
  const Tensor lengths = integers({2}, {5, 3});
  AttentionOptions options;
  options.heads = 2;
  const std::vector<Tensor> qkv = {random({2, 5, 8}, 1), random({2, 5, 8}, 2),
                                   random({2, 5, 8}, 3)};
  const auto check = [&](const Tensor* key_lengths) {
    expect_gradients(
        [&](Tape& t, const Variables& x) {
          return attention(t, x[0], x[1], x[2], {key_lengths}, options);
        },
        qkv);
  };
  check(nullptr);
  check(&lengths);
  options.causal = true;
  options.dropout = 0.25F;
  options.stream = random_stream(3, 4);
  check(nullptr);
}

TEST_F(Gradients, AttentionOfGroupsWindowsAndPackedSamples) {
  const Tensor starts = integers({2, 5}, {0, 0, 2, 2, 2, 0, 1, 1, 1, 4});
  AttentionOptions options;
  options.heads = 4;
  options.kv_heads = 2;
  options.causal = true;
  for (const int64_t window : {0, 2}) {
    options.window = window;
    expect_gradients(
        [&](Tape& t, const Variables& x) {
          return attention(t, x[0], x[1], x[2], {.starts = &starts}, options);
        },
        {random({2, 5, 8}, 1), random({2, 5, 4}, 2), random({2, 5, 4}, 3)});
  }
}

TEST_F(Gradients, AttentionWithSinks) {
  Parameter& sinks = parameter({4}, 4);
  const Tensor starts = integers({2, 5}, {0, 0, 2, 2, 2, 0, 1, 1, 1, 4});
  AttentionOptions options;
  options.heads = 4;
  options.kv_heads = 2;
  options.causal = true;
  for (const int64_t window : {0, 2}) {
    options.window = window;
    expect_gradients(
        [&](Tape& t, const Variables& x) {
          return attention(t, x[0], x[1], x[2], {.starts = &starts}, options, &sinks);
        },
        {random({2, 5, 8}, 1), random({2, 5, 4}, 2), random({2, 5, 4}, 3)});
  }
}

TEST_F(Gradients, Embedding) {
  Parameter& table = parameter({5, 3}, 1);
  const Tensor ids = integers({2, 3}, {4, 0, 4, 2, 0, 4});  // row 4 thrice, rows 1 and 3 never
  expect_gradients([&](Tape& t, const Variables&) { return embedding(t, ids, table, DType::F32); },
                   {});
}

// A loss takes no gradient: it starts one, times `scale`.
TEST_F(Gradients, CrossEntropy) {
  const Tensor labels = integers({4}, {2, -1, 0, 4});
  const Tensor logits = scattered({4, 5});
  for (float smoothing : {0.0F, 0.1F}) {
    for (float clip : {0.0F, 1.6F}) {
      const CrossEntropyOptions options = {.label_smoothing = smoothing, .clip = clip};
      const float scale = 0.25F;
      const Bits before = bits_of(logits);
      Tape tape(device());
      tape.set_recording(true);
      const Variable x = tape.output(logits, true);
      (void)cross_entropy(tape, x, labels, scale, options);
      tape.backward(Halves::Both);
      EXPECT_TRUE(same_bits(bits_of(logits), before)) << "logits that others see were overwritten";
      const Bits gradient = bits_of(tape.take_gradient(x.slot));
      const auto loss = [&] {
        Tape off(device());
        const Tensor result = cross_entropy(off, {logits, -1}, labels, scale, options);
        EXPECT_TRUE(off.empty());
        return double{scale} * result.data<double>()[0];
      };
      EXPECT_LE(difference_error(gradient, 0.0, logits, nullptr, loss), kTolerance)
          << smoothing << ", clip " << clip;
    }
  }
}

// The check itself: a gradient that is wrong in one element by one percent is seen.
TEST_F(Gradients, AWrongGradientIsSeen) {
  const Tensor x = random({8}, 1);
  Bits gradient(8);
  for (size_t i = 0; i < 8; ++i) gradient[i] = 2.0F * x.data<float>()[i];
  const auto loss = [&] {
    double sum = 0.0;
    for (float value : x.span<float>()) sum += double{value} * double{value};
    return sum;
  };
  EXPECT_LE(difference_error(gradient, 0.0, x, nullptr, loss), kTolerance);
  const auto largest = std::max_element(gradient.begin(), gradient.end(), [](float a, float b) {
    return std::fabs(a) < std::fabs(b);
  });
  *largest *= 1.01F;
  EXPECT_GT(difference_error(gradient, 0.0, x, nullptr, loss), kTolerance);
}

TEST_F(Gradients, FixedBatchNorm) {
  Parameter gamma;
  gamma.weight = Weight(random({3}, 1));
  gamma.shape = {3};
  Parameter beta;
  beta.weight = Weight(random({3}, 2));
  const Tensor mean = random({3}, 3);
  const Tensor variance = tensor({3}, [](size_t c) { return 0.25 * static_cast<double>(c + 1); });
  expect_gradients(
      [&](Tape& t, const Variables& x) {
        return fixed_batch_norm(t, x[0], mean, variance, gamma, beta, 1e-2F);
      },
      {random({2, 2, 2, 3}, 4)});
}

// ---- frozen parameters
class FrozenGradients : public AutogradTest {
 protected:
  // Whichever parameters are frozen: the others' gradients and the input's have the same bits.
  void expect_the_others(const Function& f, const Tensor& x, const Shape& y) {
    const Tensor upstream = random(y, 99);
    const auto all = gradients(f, {x}, upstream, How::AtOnce);
    const auto subsets = size_t{1} << parameters_.size();
    for (size_t subset = 1; subset < subsets; ++subset) {
      for (size_t p = 0; p < parameters_.size(); ++p) {
        parameters_[p].frozen = (subset >> p & 1) != 0;
      }
      for (How how : {How::AtOnce, How::Halves, How::UpstreamGivenAway}) {
        expect_frozen(all, gradients(f, {x}, upstream, how), 1);
      }
      const auto untracked = gradients(f, {x}, upstream, How::AtOnce, 0);
      if (subset + 1 == subsets) {
        EXPECT_TRUE(untracked.empty()) << "nothing to differentiate for";
      } else {
        expect_frozen({all.begin() + 1, all.end()}, untracked, 0);
      }
    }
  }

 private:
  void expect_frozen(const std::vector<Bits>& all, const std::vector<Bits>& some, size_t inputs) {
    ASSERT_EQ(some.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const bool frozen = i >= inputs && parameters_[i - inputs].frozen;
      const Bits untouched(all[i].size(), kBefore);
      EXPECT_TRUE(same_bits(some[i], frozen ? untouched : all[i])) << i;
    }
  }
};

TEST_F(FrozenGradients, OfALinearLayer) {
  Parameter& weight = parameter({4, 3}, 1);
  Parameter& bias = parameter({4}, 2);
  expect_the_others(
      [&](Tape& t, const Variables& x) { return linear(t, x[0], weight, &bias, Fused::Tanh); },
      random({5, 3}, 3), {5, 4});
}

TEST_F(FrozenGradients, OfAFeedForwardLayer) {
  Parameter& in = parameter({6, 3}, 1);
  Parameter& in_bias = parameter({6}, 2);
  Parameter& out = parameter({4, 6}, 3);
  Parameter& out_bias = parameter({4}, 4);
  expect_the_others(
      [&](Tape& t, const Variables& x) {
        return feed_forward(t, x[0], in, &in_bias, out, &out_bias, Activation::Gelu);
      },
      random({5, 3}, 5), {5, 4});
}

TEST_F(FrozenGradients, OfExperts) {
  Parameter& weight = parameter({2, 4, 3}, 1);
  Parameter& bias = parameter({2, 4}, 2);
  const Tensor logits = scattered({5, 2});
  expect_the_others(
      [&](Tape& t, const Variables& x) {
        const Routed routed = route(t, {logits, -1}, 1, {});
        return grouped_linear(t, gather(t, x[0], routed.routing), weight, routed.routing, &bias);
      },
      random({5, 3}, 3), {5, 4});
}

TEST_F(FrozenGradients, OfSinks) {
  Parameter& sinks = parameter({2}, 1);
  AttentionOptions options;
  options.heads = 2;
  expect_the_others(
      [&](Tape& t, const Variables& x) {
        return attention(t, x[0], x[0], x[0], {}, options, &sinks);
      },
      random({2, 3, 4}, 3), {2, 3, 4});
}

TEST_F(FrozenGradients, OfAConvolution) {
  Parameter& weight = parameter({4, 2, 3, 3}, 1);
  Parameter& bias = parameter({4}, 2);
  expect_the_others(
      [&](Tape& t, const Variables& x) { return conv2d(t, x[0], weight, &bias, kSame3, 1); },
      random({2, 5, 4, 2}, 3), {2, 3, 4, 4});
}

TEST_F(FrozenGradients, OfNorms) {
  Parameter& gamma = parameter({3}, 1);
  Parameter& beta = parameter({3}, 2);
  Tensor sums = device().empty({kNormSums, 3}, DType::F32, Purpose::Workspace);
  expect_the_others(
      [&](Tape& t, const Variables& x) { return layer_norm(t, x[0], gamma, &beta, 1e-2F); },
      random({5, 3}, 3), {5, 3});
  gamma.frozen = beta.frozen = false;
  expect_the_others(
      [&](Tape& t, const Variables& x) { return batch_norm(t, x[0], gamma, beta, 1e-2F, sums); },
      random({5, 3}, 3), {5, 3});
}

// Two products that rely on a norm instead of keeping its result: in halves, a norm whose own
// parameters are frozen must still be there when the weight halves of the products ask for it.
TEST_F(FrozenGradients, OfProductsThatRelyOnANorm) {
  Parameter& gamma = parameter({3}, 1);
  Parameter& beta = parameter({3}, 2);
  Parameter& first = parameter({4, 3}, 3);
  Parameter& second = parameter({4, 3}, 4);
  expect_the_others(
      [&](Tape& t, const Variables& x) {
        const Variable normed = layer_norm(t, x[0], gamma, &beta, 1e-2F);
        return multiply(t, linear(t, normed, first, nullptr), linear(t, normed, second, nullptr));
      },
      random({5, 3}, 5), {5, 4});
}

TEST_F(FrozenGradients, OfTables) {
  Parameter& table = parameter({6, 3}, 1);
  Parameter& positions = parameter({5, 3}, 2);
  const Tensor ids = integers({2, 5}, {0, 5, 2, 2, 1, 3, 3, 4, 0, 1});
  expect_the_others(
      [&](Tape& t, const Variables& x) {
        const Variable token = embedding(t, ids, table, DType::F32);
        return add(t, add_table(t, token, positions, 5), x[0]);
      },
      random({2, 5, 3}, 4), {2, 5, 3});
}

}  // namespace
}  // namespace penstock
