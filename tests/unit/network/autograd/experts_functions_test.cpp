// Mixtures of experts on the tape: gradients by central differences, whose steps must not change
// which experts a row goes to.
#include "gradients.h"
#include "kernels/bfloat16.h"

namespace penstock {
namespace {

class ExpertFunctions : public AutogradTest {};

TEST_F(ExpertFunctions, HaveTheGradientsOfAMixture) {
  Parameter& in = parameter({4, 3, 5}, 1);
  Parameter& out = parameter({4, 5, 3}, 2);
  // A step of a logit is 0.04 and more apart from the next one.
  const Tensor logits =
      tensor({2, 3, 4}, [](size_t i) { return 0.2 * static_cast<double>(i * 7 % 24) - 2.0; });
  for (const auto score : {RouterScore::Softmax, RouterScore::Sigmoid}) {
    for (const bool normalised : {true, false}) {
      const Router router{.score = score, .normalised = normalised, .scale = 1.5F};
      expect_gradients(
          [&](Tape& tape, const Variables& v) {
            const Routed routed = route(tape, v[1], 2, router);
            const Variable rows = gather(tape, v[0], routed.routing);
            const Variable inside =
                activation(tape, grouped_linear(tape, rows, in, routed.routing), Activation::Silu);
            const Variable results = grouped_linear(tape, inside, out, routed.routing);
            return combine(tape, results, routed, v[0].shape());
          },
          {random({2, 3, 5}, 3), logits});
    }
  }
}

TEST_F(ExpertFunctions, HaveTheGradientsOfBiases) {
  Parameter& weight = parameter({4, 3, 5}, 1);
  Parameter& bias = parameter({4, 3}, 2);
  const Tensor logits =
      tensor({2, 3, 4}, [](size_t i) { return 0.2 * static_cast<double>(i * 7 % 24) - 2.0; });
  expect_gradients(
      [&](Tape& tape, const Variables& v) {
        const Routed routed = route(tape, {logits, -1}, 2, {});
        const Variable rows = gather(tape, v[0], routed.routing);
        return grouped_linear(tape, rows, weight, routed.routing, &bias);
      },
      {random({2, 3, 5}, 3)});
}

TEST_F(ExpertFunctions, HaveTheGradientsOfGatedRows) {
  expect_gradients([](Tape& tape, const Variables& v) { return gate_rows(tape, v[0], v[1]); },
                   {random({2, 3, 5}, 1), random({2, 3, 1}, 2)});
}

TEST_F(ExpertFunctions, CastAndCastTheGradientBack) {
  Tape tape(device());
  tape.set_recording(true);
  const Variable x = tape.output(random({2, 3}, 1), true);
  EXPECT_EQ(cast(tape, x, DType::F32).slot, x.slot);
  const Variable narrow = cast(tape, x, DType::BF16);
  EXPECT_EQ(narrow.value.dtype(), DType::BF16);
  tape.give_gradient(narrow.slot, narrow.value);
  tape.backward(Halves::Both);
  const Tensor dx = tape.take_gradient(x.slot);
  ASSERT_EQ(dx.dtype(), DType::F32);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(dx.data<float>()[i], static_cast<float>(bfloat16(x.value.data<float>()[i]))) << i;
  }
}

}  // namespace
}  // namespace penstock
