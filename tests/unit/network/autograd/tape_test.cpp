// The tape itself: gradients that meet are added and never written through, nothing is recorded
// that was not asked for, and a tape that is used again asks for no more memory.
#include "runtime/network/autograd/tape.h"

#include "kernels/counting/counting_device.h"
#include "tests/support/large_requests.h"
#include "tests/unit/network/autograd/gradients.h"

namespace penstock {
namespace {

using TapeTest = AutogradTest;

TEST_F(TapeTest, ValuesUsedTwiceReceiveBothGradients) {
  expect_gradients([](Tape& t, const Variables& x) { return multiply(t, x[0], x[0]); },
                   {random({3, 4}, 1)});
  expect_gradients([](Tape& t, const Variables& x) { return add(t, x[0], x[0]); },
                   {random({3, 4}, 1)});
  expect_gradients(
      [](Tape& t, const Variables& x) {
        return add(t, x[0], activation(t, scale(t, x[0], 0.5F), Activation::Tanh));
      },
      {random({3, 4}, 1)});
}

// One gradient reaches both sides of every addition; the in-place ops behind must not write it.
TEST_F(TapeTest, ResidualChainWithWeights) {
  Parameter& weight = parameter({4, 4}, 1);
  Parameter& again = parameter({4, 4}, 2);
  expect_gradients(
      [&](Tape& t, const Variables& x) {
        Variable y = add(t, x[0], linear(t, x[0], weight, nullptr, Fused::Tanh));
        y = add(t, y, activation(t, linear(t, y, again, nullptr), Activation::Gelu));
        return add(t, scale(t, y, 0.5F), y);
      },
      {random({3, 4}, 3)});
}

// A weight used twice receives the sum of both uses.
TEST_F(TapeTest, SharedWeights) {
  Parameter& weight = parameter({4, 4}, 1);
  expect_gradients(
      [&](Tape& t, const Variables& x) {
        return linear(t, linear(t, x[0], weight, nullptr, Fused::Tanh), weight, nullptr);
      },
      {random({3, 4}, 3)});
}

TEST_F(TapeTest, GivenGradientsAreAddedAndSharedOnesLeftAlone) {
  Tape tape(device());
  tape.set_recording(true);
  const Tensor a = random({5}, 1);
  const Tensor b = random({5}, 2);
  const Bits a_before = bits_of(a);
  const Bits b_before = bits_of(b);
  const auto copy_of = [&](const Tensor& t) {
    Tensor copy = device().empty(t.shape(), DType::F32, Purpose::Activations);
    device().pointwise().copy(copy, t);
    return copy;
  };
  Bits sum(5);
  for (size_t i = 0; i < 5; ++i) sum[i] = a_before[i] + b_before[i];
  for (bool a_shared : {false, true}) {
    for (bool b_shared : {false, true}) {
      const Variable x = tape.output(random({5}, 3), true);
      tape.give_gradient(x.slot, a_shared ? a : copy_of(a));
      tape.give_gradient(x.slot, b_shared ? b : copy_of(b));
      EXPECT_TRUE(same_bits(bits_of(tape.take_gradient(x.slot)), sum)) << a_shared << b_shared;
      EXPECT_TRUE(same_bits(bits_of(a), a_before)) << a_shared << b_shared;
      EXPECT_TRUE(same_bits(bits_of(b), b_before)) << a_shared << b_shared;
    }
  }
}

TEST_F(TapeTest, NothingFlowsWhereNothingWasUsed) {
  Parameter& weight = parameter({4, 4}, 1);
  Tape tape(device());
  tape.set_recording(true);
  const Variable x = tape.output(random({3, 4}, 1), true);
  const Variable y = tape.output(random({3, 4}, 2), true);
  const Variable used = scale(tape, x, 2.0F);
  (void)linear(tape, y, weight, nullptr);  // goes nowhere
  tape.give_gradient(used.slot, random({3, 4}, 3));
  tape.backward(Halves::Both);
  EXPECT_TRUE(tape.take_gradient(x.slot));
  EXPECT_FALSE(tape.take_gradient(y.slot));
  for (float g : bits_of(weight.gradient)) EXPECT_EQ(g, 0.0F);
}

TEST_F(TapeTest, OnlyWhatLeadsToAGradientIsRecorded) {
  Parameter& weight = parameter({4, 4}, 1);
  const Tensor data = random({3, 4}, 1);
  Tape tape(device());
  EXPECT_FALSE(tape.output(data, true).tracked()) << "not recording";
  EXPECT_FALSE(linear(tape, {data, -1}, weight, nullptr).tracked());
  EXPECT_TRUE(tape.empty());
  tape.set_recording(true);
  const Variable untracked = multiply(tape, {data, -1}, {data, -1});
  EXPECT_FALSE(untracked.tracked());
  EXPECT_FALSE(concat(tape, {untracked, untracked}, 0).tracked());
  const std::array<int64_t, 2> halves = {2, 2};
  EXPECT_FALSE(split(tape, untracked, halves, 1)[0].tracked());
  EXPECT_TRUE(tape.empty());
  EXPECT_TRUE(linear(tape, untracked, weight, nullptr).tracked()) << "the weight wants a gradient";
  EXPECT_FALSE(tape.empty());
  tape.clear();
  EXPECT_TRUE(tape.empty());
}

TEST_F(TapeTest, LayoutsThereAndBackChangeNoBit) {
  const Tensor x = random({2, 3, 4}, 1);
  Tape tape(device());
  const std::array<int, 3> there = {2, 0, 1};
  const std::array<int, 3> back = {1, 2, 0};
  const std::array<int64_t, 3> extents = {1, 2, 1};
  const Variable turned = transpose(tape, transpose(tape, {x, -1}, there), back);
  EXPECT_EQ(turned.shape(), x.shape());
  EXPECT_TRUE(same_bits(bits_of(turned.value), bits_of(x)));
  const Variable joined = concat(tape, split(tape, {x, -1}, extents, 2), 2);
  EXPECT_EQ(joined.shape(), x.shape());
  EXPECT_TRUE(same_bits(bits_of(joined.value), bits_of(x)));
  const Variable seen = reshape(tape, {x, -1}, {4, 6});
  EXPECT_EQ(seen.value.raw(), x.raw()) << "a reshape is a view";
  EXPECT_TRUE(same_bits(bits_of(reshape(tape, seen, {2, 3, 4}).value), bits_of(x)));
}

// More nodes than one chunk of the arena holds, twice over in two ways.
TEST_F(TapeTest, UsedAgainItAsksForNoMoreMemory) {
  Parameter& weight = parameter({4, 4}, 1);
  const Tensor input = random({3, 4}, 2);
  const Tensor upstream = random({3, 4}, 3);
  int progressed = 0;
  Tape tape(device(), {.progress = [&] { ++progressed; }});
  const auto pass = [&](bool halves) {
    device().pointwise().fill(weight.gradient, 0.0F);
    tape.set_recording(true);
    const Variable x = tape.output(input, true);
    Variable y = x;
    for (int i = 0; i < 300; ++i) y = add(tape, y, linear(tape, y, weight, nullptr, Fused::Tanh));
    tape.set_recording(false);
    tape.give_gradient(y.slot, upstream);
    halves ? tape.backward(Halves::Input) : tape.backward(Halves::Both);
    Bits gradient = bits_of(tape.take_gradient(x.slot));
    if (halves) tape.backward(Halves::Weight);
    const Bits weights = bits_of(weight.gradient);
    gradient.insert(gradient.end(), weights.begin(), weights.end());
    tape.clear();
    return gradient;
  };
  const Bits first = pass(false);
  EXPECT_EQ(progressed, 1501)
      << "once for the input, after every forward, and after each half of a backward";
  for (float g : first) ASSERT_TRUE(std::isfinite(g));
  EXPECT_TRUE(same_bits(first, pass(true)));
  const int64_t allocations = device().memory().use().system_allocations;
  const int64_t held = device().memory().use().total_current;
  const int chunks = large_requests;
  EXPECT_GT(chunks, 0);
  for (bool halves : {false, true, false, true}) EXPECT_TRUE(same_bits(first, pass(halves)));
  EXPECT_EQ(device().memory().use().system_allocations, allocations);
  EXPECT_EQ(large_requests, chunks) << "the nodes' own memory is used again";
  EXPECT_EQ(device().memory().use().total_current, held) << "a used tape holds no tensor";
}

// A pipeline keeps many tapes alive; the activations of a node go as soon as its backward is done.
TEST_F(TapeTest, BackwardFreesAsItGoes) {
  Tape tape(device());
  tape.set_recording(true);
  const Variable x = tape.output(random({64, 64}, 1), true);
  Variable y = x;
  for (int i = 0; i < 8; ++i) y = activation(tape, y, Activation::Silu);
  const int slot = y.slot;
  y.value.reset();
  tape.give_gradient(slot, random({64, 64}, 2));
  Memory& memory = device().memory();
  memory.reset_peaks();
  const int64_t before = memory.use().total_current;
  tape.backward(Halves::Both);
  EXPECT_LE(memory.use().total_peak, before + 64 * 64 * 4) << "gradients are made in place";
  EXPECT_EQ(memory.use().total_current, before - 7 * 64 * 64 * 4);
}

// What plans for GPUs count: there the result of the function is kept beside its argument, as the
// weight half of the second product reads it; elsewhere it is computed again.
TEST(CountedTapes, KeepTheResultOfAFusedFunction) {
  constexpr int64_t kRows = 40;
  constexpr int64_t kHidden = 96;
  const auto kept = [](Activation f) {
    const auto device = make_counting_device(device_model_named("h100"));
    const auto parameter = [&](const Shape& shape) {
      Parameter p;
      p.shape = shape;
      p.weight = Weight(device->empty(shape, DType::F32, Purpose::Parameters));
      p.gradient = device->empty(shape, DType::F32, Purpose::Gradients);
      return p;
    };
    Parameter in = parameter({kHidden, 24});
    Parameter in_bias = parameter({kHidden});
    Parameter out = parameter({24, kHidden});
    Parameter out_bias = parameter({24});
    Tape tape(*device);
    tape.set_recording(true);
    const Tensor x = device->empty({kRows, 24}, DType::BF16, Purpose::Activations);
    const Variable y = feed_forward(tape, tape.output(x, true), in, &in_bias, out, &out_bias, f);
    return device->memory().use().current_of(Purpose::Activations);
  };
  EXPECT_EQ(kept(Activation::GeluTanh) - kept(Activation::Gelu), kRows * kHidden * 2);
}

}  // namespace
}  // namespace penstock
