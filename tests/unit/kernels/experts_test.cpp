// Mixtures of experts against plain loops in double, and their central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/unit/kernels/reference.h"

namespace penstock {
namespace {

using namespace reference;

constexpr double kTolerance = 1e-5;

Routing empty_routing(Rig& rig, int64_t rows, int64_t chosen, int64_t experts) {
  const auto numbers = [&](const Shape& shape) { return filled(rig, shape, DType::I32, -1); };
  return {numbers({rows, chosen}), numbers({rows * chosen}), numbers({rows * chosen}),
          numbers({experts + 1})};
}

Tensor with(Rig& rig, const Shape& shape, const Doubles& numbers, DType type = DType::F32) {
  Tensor t = rig.empty(shape, type);
  assign(t, [&](size_t i) { return numbers.at(i); });
  return t;
}

class ExpertsTest : public testing::Test {
 protected:
  struct Routed {
    Routing routing;
    Tensor weights;
  };
  Routed route(const Tensor& logits, int64_t chosen, const Router& router = {},
               const Tensor& correction = {}) {
    Routed routed{empty_routing(rig_, logits.dim(0), chosen, logits.dim(1)),
                  poisoned(rig_, {logits.dim(0), chosen})};
    ops_->route(routed.routing, routed.weights, logits, correction, router);
    return routed;
  }
  Rig rig_{2};
  std::unique_ptr<ExpertOps> ops_ = cpu_expert_ops(rig_.context);
};

TEST_F(ExpertsTest, TakeTheLargestLogitsAndOfEqualsTheLowerNumber) {
  const Tensor logits = with(rig_, {4, 4},
                             {1, 3, 2, 0,  //
                              5, 5, 5, 5,  //
                              0, 1, 1, 1,  //
                              -1, -4, -2, -3});
  const Routing routing = route(logits, 2).routing;
  EXPECT_EQ(values(routing.chosen), (Doubles{1, 2, 0, 1, 1, 2, 0, 2}));
  // Expert 0 has rows 1 and 3, expert 1 rows 0, 1 and 2, expert 2 rows 0, 2 and 3, expert 3 none.
  EXPECT_EQ(values(routing.offsets), (Doubles{0, 2, 5, 8, 8}));
  EXPECT_EQ(values(routing.order), (Doubles{2, 6, 0, 3, 4, 1, 5, 7}));
  EXPECT_EQ(values(routing.places), (Doubles{2, 5, 0, 3, 4, 6, 1, 7}));
}

TEST_F(ExpertsTest, ChooseDifferentExpertsWhateverTheLogits) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor logits = with(rig_, {3, 3},
                             {NAN, NAN, NAN, -infinity, -infinity, -infinity,  //
                              infinity, NAN, infinity});
  const Doubles chosen = values(route(logits, 2).routing.chosen);
  for (size_t row = 0; row < 3; ++row) EXPECT_LT(chosen[2 * row], chosen[2 * row + 1]) << row;
}

TEST_F(ExpertsTest, GiveNoRowsToAnyExpert) {
  for (const int32_t groups : {1, 2}) {  // with two, rows are not chosen by their logits
    const Router router{.groups = groups, .chosen_groups = 1, .balance = 0.5F};
    Tensor none = rig_.empty({0, 4});
    const Routed routed = route(none, 2, router);
    EXPECT_EQ(values(routed.routing.offsets), (Doubles{0, 0, 0, 0, 0}));
    ops_->route_backward(none, routed.weights, routed.weights, none, routed.routing, router);
    Tensor rows = rig_.empty({0, 6});
    ops_->gather(rows, rows, routed.routing);
    ops_->gather_backward(rows, rows, routed.routing);
    ops_->combine(rows, rows, routed.weights, routed.routing);
    Tensor dweights = routed.weights;
    ops_->combine_backward(rows, dweights, rows, rows, routed.weights, routed.routing);
  }
}

TEST_F(ExpertsTest, AddUpHowManySlotsEachExpertHas) {
  const Routed routed = route(random(rig_, {40, 5}, 1), 2);
  const Doubles offsets = values(routed.routing.offsets);
  Tensor counts = with(rig_, {5}, {0, 10, 20, 30, 16777000});
  const Doubles before = values(counts);
  ops_->count_slots(counts, routed.routing.offsets);
  for (size_t e = 0; e < 5; ++e) {
    EXPECT_EQ(values(counts)[e], before[e] + offsets[e + 1] - offsets[e]) << e;
  }
}

TEST_F(ExpertsTest, CorrectTheChoiceAndNotTheWeights) {
  const Tensor logits = with(rig_, {2, 3}, {0, 1, 2, 1, 1, 1});
  const Tensor correction = with(rig_, {3}, {0.5, 0, 0});
  const Routed sigmoids =
      route(logits, 1, {.score = RouterScore::Sigmoid, .normalised = false}, correction);
  EXPECT_EQ(values(sigmoids.routing.chosen), (Doubles{0, 0}));
  EXPECT_LE(error(sigmoids.weights, {0.5, 1.0 / (1.0 + std::exp(-1.0))}), kTolerance);
  // Of the softmax (0.09, 0.24, 0.67) the correction does not make the first the largest.
  const Routed softmax = route(logits, 1, {.normalised = false}, correction);
  EXPECT_EQ(values(softmax.routing.chosen), (Doubles{2, 0}));
  const Tensor none = filled(rig_, {3}, DType::F32, 0.25);
  EXPECT_EQ(values(route(logits, 2, {}, none).routing.chosen), (Doubles{1, 2, 0, 1}));
}

TEST_F(ExpertsTest, ChooseInTheGroupsWithTheTwoBestScores) {
  const Tensor logits = with(rig_, {3, 6},
                             {5, -5, -5, 3, 3, -9,  //
                              1, 1, 0, 1, 1, 0,     //
                              0, 0, -1, 4, 0, 0});
  const Router router{.score = RouterScore::Sigmoid, .groups = 2, .chosen_groups = 1};
  EXPECT_EQ(values(route(logits, 2, router).routing.chosen), (Doubles{3, 4, 0, 1, 3, 4}));
  const Tensor correction = with(rig_, {6}, {0, 0, 2, 0, 0, 0});
  EXPECT_EQ(values(route(logits, 2, router, correction).routing.chosen),
            (Doubles{0, 2, 0, 2, 0, 2}));
  const Router all{.score = RouterScore::Sigmoid, .groups = 2, .chosen_groups = 2};
  EXPECT_EQ(values(route(logits, 1, all).routing.chosen), (Doubles{0, 0, 3}));
}

TEST_F(ExpertsTest, MoveCorrectionsTowardsAnEvenLoad) {
  Tensor correction = with(rig_, {4}, {1, 1, 1, 1});
  ops_->balance(correction, with(rig_, {4}, {3, 5, 1, 3}), 0.25F);
  EXPECT_EQ(values(correction), (Doubles{1, 0.75, 1.25, 1}));
  // Neither the sum nor its quarter is an fp32 number.
  ops_->balance(correction, with(rig_, {4}, {16777215, 16777215, 16777214, 16777214}), 0.25F);
  EXPECT_EQ(values(correction), (Doubles{0.75, 0.5, 1.5, 1.25}));
}

TEST_F(ExpertsTest, SigmoidsThatAreAllZeroWeighNothing) {
  const Tensor logits = with(rig_, {1, 3}, {-300, -300, -300});
  const Routed routed = route(logits, 2, {.score = RouterScore::Sigmoid, .normalised = true});
  EXPECT_EQ(values(routed.weights), (Doubles{0, 0}));
}

// The weights of the experts that `routing` chose, as functions of the logits.
Doubles weights_of(const Doubles& logits, const Routing& routing, const Router& router) {
  const auto experts = static_cast<size_t>(routing.offsets.elements() - 1);
  const Doubles chosen = values(routing.chosen);
  const auto count = static_cast<size_t>(routing.chosen.dim(1));
  Doubles all;
  for (size_t row = 0; row < logits.size() / experts; ++row) {
    const double* x = logits.data() + row * experts;
    double sum = 0.0;
    for (size_t e = 0; e < experts; ++e) sum += std::exp(x[e]);
    Doubles weights;
    for (size_t j = 0; j < count; ++j) {
      const double at = x[static_cast<size_t>(chosen[row * count + j])];
      weights.push_back(router.score == RouterScore::Softmax ? std::exp(at) / sum
                                                             : 1.0 / (1.0 + std::exp(-at)));
    }
    const double total =
        router.normalised ? std::accumulate(weights.begin(), weights.end(), 0.0) : 1.0;
    for (const double weight : weights) all.push_back(router.scale * weight / total);
  }
  return all;
}

TEST_F(ExpertsTest, WeighByScoresForwardAndBackward) {
  const Tensor logits = random(rig_, {9, 5}, 1);
  for (const auto score : {RouterScore::Softmax, RouterScore::Sigmoid}) {
    for (const bool normalised : {true, false}) {
      for (const int64_t chosen : {1, 3, 5}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(score) << normalised << chosen);
        const Router router{.score = score, .normalised = normalised, .scale = 2.5F};
        const Routed routed = route(logits, chosen, router);
        const auto f = [&](const Doubles& x) { return weights_of(x, routed.routing, router); };
        EXPECT_LE(error(routed.weights, f(values(logits))), kTolerance);
        const Tensor g = random(rig_, {9, chosen}, 2);
        Tensor dlogits = poisoned(rig_, {9, 5});
        ops_->route_backward(dlogits, g, routed.weights, logits, routed.routing, router);
        EXPECT_LE(gradient_error(dlogits, f, logits, g, {}, 45), kTolerance);
      }
    }
  }
}

// The losses of Router, whose counts of rows do not change with the logits.
TEST_F(ExpertsTest, AddTheGradientsOfTheAuxiliaryLosses) {
  const Tensor logits = random(rig_, {9, 5}, 1);
  const Router router{.balance = 0.3F, .z = 0.07F};
  const Routed routed = route(logits, 2, router);
  const Doubles offsets = values(routed.routing.offsets);
  const auto losses = [&](const Doubles& x) {
    double balance = 0.0;
    double z = 0.0;
    for (size_t row = 0; row < 9; ++row) {
      double sum = 0.0;
      for (size_t e = 0; e < 5; ++e) sum += std::exp(x[row * 5 + e]);
      z += std::log(sum) * std::log(sum);
      for (size_t e = 0; e < 5; ++e) {
        balance += 5.0 * (offsets[e + 1] - offsets[e]) * std::exp(x[row * 5 + e]) / sum / 9.0;
      }
    }
    return Doubles{router.balance * balance + router.z * z};
  };
  Tensor dlogits = poisoned(rig_, {9, 5});
  const Tensor nothing = filled(rig_, {9, 2}, DType::F32, 0.0);
  ops_->route_backward(dlogits, nothing, routed.weights, logits, routed.routing, router);
  EXPECT_LE(gradient_error(values(dlogits), losses, values(logits), {1.0}, {}, 45), kTolerance);
}

TEST_F(ExpertsTest, GatherAndCombineRows) {
  const Routed routed = route(random(rig_, {7, 4}, 1), 2);
  const Doubles order = values(routed.routing.order);
  const Doubles weights = values(routed.weights);
  const int64_t width = 300;
  const auto n = static_cast<size_t>(width);
  const auto gathered = [&](const Doubles& x) {
    Doubles y(14 * n);
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = x[static_cast<size_t>(order[i / n]) / 2 * n + i % n];
    }
    return y;
  };
  const auto combined = [&](const Doubles& x, const Doubles& w) {
    Doubles y(7 * n);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto slot = static_cast<size_t>(order[i / n]);
      y[slot / 2 * n + i % n] += w[slot] * x[i];
    }
    return y;
  };
  for (const DType type : {DType::F32, DType::BF16}) {
    const Tensor x = random(rig_, {7, width}, 2, type);
    Tensor rows = poisoned(rig_, {14, width}, type);
    ops_->gather(rows, x, routed.routing);
    EXPECT_EQ(values(rows), gathered(values(x)));
    const Tensor g = random(rig_, {14, width}, 3, type);
    Tensor dx = poisoned(rig_, {7, width}, type);
    ops_->gather_backward(dx, g, routed.routing);
    EXPECT_LE(gradient_error(dx, gathered, x, g), kTolerance);

    Tensor y = poisoned(rig_, {7, width}, type);
    ops_->combine(y, g, routed.weights, routed.routing);
    EXPECT_LE(error(y, combined(values(g), weights)), kTolerance);
    Tensor drows = poisoned(rig_, {14, width}, type);
    Tensor dweights = poisoned(rig_, {7, 2});
    ops_->combine_backward(drows, dweights, x, g, routed.weights, routed.routing);
    EXPECT_LE(gradient_error(
                  drows, [&](const Doubles& v) { return combined(v, weights); }, g, x),
              kTolerance);
    EXPECT_LE(
        gradient_error(
            dweights, [&](const Doubles& w) { return combined(values(g), w); }, routed.weights, x),
        kTolerance);
  }
}

// Rows of each expert, [offsets[e], offsets[e + 1]), times its matrix.
Doubles products(const Doubles& x, const Doubles& w, const Doubles& offsets, size_t in,
                 size_t out) {
  Doubles y;
  for (size_t e = 0; e + 1 < offsets.size(); ++e) {
    for (auto row = static_cast<size_t>(offsets[e]); row < static_cast<size_t>(offsets[e + 1]);
         ++row) {
      for (size_t o = 0; o < out; ++o) {
        double sum = 0.0;
        for (size_t i = 0; i < in; ++i) sum += x[row * in + i] * w[(e * out + o) * in + i];
        y.push_back(sum);
      }
    }
  }
  return y;
}

// An expert without rows, one with a single row, and one with more rows than a tile has.
TEST_F(ExpertsTest, MultiplyEachExpertsRowsByItsMatrix) {
  const Doubles bounds = {0, 5, 5, 6, 140};
  const Tensor offsets = with(rig_, {5}, bounds, DType::I32);
  const int64_t in = 9;
  const int64_t out = 13;
  for (const DType type : {DType::F32, DType::BF16}) {
    for (const DType kept : {DType::F32, DType::BF16}) {
      if (type == DType::F32 && kept == DType::BF16) continue;
      SCOPED_TRACE(std::string(name_of(type)) + " by " + name_of(kept));
      const Tensor x = random(rig_, {140, in}, 1, type);
      const Tensor exact = random(rig_, {4, out, in}, 2, DType::BF16);
      Weight w(with(rig_, {4, out, in}, values(exact), kept));
      const auto of_x = [&](const Doubles& v) {
        return products(v, values(exact), bounds, in, out);
      };
      const auto of_w = [&](const Doubles& v) { return products(values(x), v, bounds, in, out); };
      Tensor y = poisoned(rig_, {140, out}, type);
      ops_->grouped_forward(y, x, w, offsets);
      EXPECT_LE(error(y, of_x(values(x))), kTolerance);
      const Tensor g = random(rig_, {140, out}, 3, type);
      Tensor dx = poisoned(rig_, {140, in}, type);
      ops_->grouped_backward_input(dx, g, w, offsets);
      EXPECT_LE(gradient_error(dx, of_x, x, g), kTolerance);
      Tensor dw = poisoned(rig_, {4, out, in});
      ops_->grouped_backward_weight(dw, x, g, offsets, false);
      EXPECT_LE(gradient_error(dw, of_w, exact, g, {}, 468), kTolerance);
      const Doubles before = values(random(rig_, {4, out, in}, 4));
      dw = with(rig_, {4, out, in}, before);
      ops_->grouped_backward_weight(dw, x, g, offsets, true);
      EXPECT_LE(gradient_error(dw, of_w, exact, g, before, 468), kTolerance);
    }
  }
}

// Tensors with the rows of t that begin at `first`.
Tensor rows_from(Rig& rig, const Tensor& t, int64_t first, int64_t rows) {
  Tensor some = rig.empty({rows, t.dim(1)}, t.dtype());
  const size_t line = t.size_bytes() / static_cast<size_t>(t.dim(0));
  std::memcpy(some.raw(),
              static_cast<const std::byte*>(t.raw()) + static_cast<size_t>(first) * line,
              some.size_bytes());
  return some;
}

// By whatever other rows the expert has, and wherever among them the row stands.
TEST_F(ExpertsTest, ARowHasTheSameBitsInAnyCompany) {
  for (const DType type : {DType::F32, DType::BF16}) {
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{70, 300}, {512, 96}, {9, 13}}) {
      SCOPED_TRACE(testing::Message() << name_of(type) << " " << in << " -> " << out);
      const Tensor x = random(rig_, {40, in}, 1, type);
      Weight w(random(rig_, {1, out, in}, 2));
      Tensor all = poisoned(rig_, {40, out}, type);
      ops_->grouped_forward(all, x, w, with(rig_, {2}, {0, 40}, DType::I32));
      for (const auto& [first, rows] :
           {std::pair<int64_t, int64_t>{0, 1}, {39, 1}, {3, 17}, {15, 2}, {1, 39}}) {
        Tensor some = poisoned(rig_, {rows, out}, type);
        ops_->grouped_forward(some, rows_from(rig_, x, first, rows), w,
                              with(rig_, {2}, {0, static_cast<double>(rows)}, DType::I32));
        EXPECT_TRUE(same_bits(some, rows_from(rig_, all, first, rows))) << first << ", " << rows;
      }
    }
  }
}

// Many rows are multiplied in larger pieces, where the processor's products give the same bits.
TEST_F(ExpertsTest, ARowHasTheSameBitsAmongMany) {
  constexpr int64_t kRows =
      1100;  // for two threads: a piece of 256 rows each, and all smaller ones
  for (const DType type : {DType::F32, DType::BF16}) {
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{70, 300}, {512, 96}, {9, 13}}) {
      SCOPED_TRACE(testing::Message() << name_of(type) << " " << in << " -> " << out);
      const Tensor x = random(rig_, {kRows, in}, 1, type);
      Weight w(random(rig_, {2, out, in}, 2));
      Tensor all = poisoned(rig_, {kRows, out}, type);
      ops_->grouped_forward(all, x, w, with(rig_, {3}, {0, 0, kRows}, DType::I32));
      for (const int64_t row : {0, 255, 256, 511, 600, 1024, 1087, 1099}) {
        Tensor one = poisoned(rig_, {1, out}, type);
        ops_->grouped_forward(one, rows_from(rig_, x, row, 1), w,
                              with(rig_, {3}, {0, 0, 1}, DType::I32));
        EXPECT_TRUE(same_bits(one, rows_from(rig_, all, row, 1))) << row;
      }
    }
  }
}

// A product of bf16 rows reads an fp32 weight as a linear layer does: rounded, where the processor
// multiplies bf16 numbers, else as it is. Of these weights, 1 + 2^-9 and 1, rounding leaves 1
// and 1.
TEST_F(ExpertsTest, BfloatRowsReadWeightsAsLinearLayersDo) {
  const Shape shape = {16, 64};
  Tensor x = rig_.empty(shape, DType::BF16);
  assign(x, [](size_t i) { return i % 2 == 0 ? 1.0 : -1.0; });
  Tensor value = rig_.empty({48, 64});
  assign(value, [](size_t i) { return i % 2 == 0 ? 1.0 + std::ldexp(1.0, -9) : 1.0; });
  for (const Bf16 bf16 : {Bf16::Auto, Bf16::Emulate}) {
    Rig rig(2, bf16);
    Weight of_layer(value);
    Tensor expected = poisoned(rig, {16, 48}, DType::BF16);
    cpu_dense_ops(rig.context)->linear_forward(expected, x, of_layer, nullptr, Fused::None);
    Weight of_expert(value.view(0, {1, 48, 64}));
    Tensor y = poisoned(rig, {16, 48}, DType::BF16);
    const auto ops = cpu_expert_ops(rig.context);
    ops->grouped_forward(y, x, of_expert, with(rig, {2}, {0, 16}, DType::I32));
    EXPECT_EQ(values(y), values(expected));
    EXPECT_EQ(values(y).front(), rig.dnn.native_bf16() ? 0.0 : 0.0625);
  }
}

TEST_F(ExpertsTest, AddEachExpertsBiasAndItsGradient) {
  const Tensor bias = random(rig_, {4, 70}, 1);
  const Tensor offsets = with(rig_, {5}, {0, 3, 3, 5, 6}, DType::I32);  // expert 1 has no rows
  const auto added = [](Doubles y, const Doubles& of) {
    const size_t expert_of[] = {0, 0, 0, 2, 2, 3};
    for (size_t i = 0; i < y.size(); ++i) y[i] += of[expert_of[i / 70] * 70 + i % 70];
    return y;
  };
  for (const DType type : {DType::F32, DType::BF16}) {
    Tensor y = random(rig_, {6, 70}, 2, type);
    const Doubles before = values(y);
    ops_->add_expert_bias(y, bias, offsets);
    EXPECT_LE(error(y, added(before, values(bias))), kTolerance);
    const Tensor g = random(rig_, {6, 70}, 3, type);
    Tensor dbias = filled(rig_, {4, 70}, DType::F32, 0.0);
    ops_->expert_bias_backward(dbias, g, offsets);
    EXPECT_LE(gradient_error(
                  dbias, [&](const Doubles& v) { return added(before, v); }, bias, g),
              kTolerance);
    const Doubles once = values(dbias);
    ops_->expert_bias_backward(dbias, g, offsets);
    for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(values(dbias)[i], 2 * once[i], 1e-5) << i;
  }
  Tensor y = rig_.empty({6, 69});
  EXPECT_THROW(ops_->add_expert_bias(y, bias, offsets), Error);
}

TEST_F(ExpertsTest, GateRows) {
  const auto gated = [](const Doubles& x, const Doubles& gate) {
    Doubles y;
    for (size_t i = 0; i < x.size(); ++i) y.push_back(x[i] / (1.0 + std::exp(-gate[i / 70])));
    return y;
  };
  for (const DType type : {DType::F32, DType::BF16}) {
    const Tensor x = random(rig_, {6, 70}, 1, type);
    const Tensor gate = random(rig_, {6, 1}, 2, type);
    const Tensor g = random(rig_, {6, 70}, 3, type);
    Tensor y = poisoned(rig_, {6, 70}, type);
    ops_->gate_rows(y, x, gate);
    EXPECT_LE(error(y, gated(values(x), values(gate))), kTolerance);
    Tensor dx = poisoned(rig_, {6, 70}, type);
    Tensor dgate = poisoned(rig_, {6, 1}, type);
    ops_->gate_rows_backward(dx, dgate, g, x, gate);
    EXPECT_LE(gradient_error(
                  dx, [&](const Doubles& v) { return gated(v, values(gate)); }, x, g),
              kTolerance);
    EXPECT_LE(gradient_error(
                  dgate, [&](const Doubles& v) { return gated(values(x), v); }, gate, g),
              kTolerance);
  }
}

TEST_F(ExpertsTest, DoNotDependOnThreads) {
  Rig alone(1);
  const auto ops = cpu_expert_ops(alone.context);
  const Tensor logits = random(rig_, {900, 8}, 1);
  const Routed routed = route(logits, 2);
  const Tensor x = random(rig_, {900, 70}, 2);
  const Tensor rows = random(rig_, {1800, 70}, 3);
  Weight w(random(rig_, {8, 300, 70}, 4));
  const Tensor g = random(rig_, {1800, 300}, 5);
  const auto all = [&](ExpertOps& of, Rig& rig) {
    std::vector<Tensor> made = {poisoned(rig, {900, 8}),   poisoned(rig, {900, 70}),
                                poisoned(rig, {900, 2}),   poisoned(rig, {1800, 300}),
                                poisoned(rig, {1800, 70}), poisoned(rig, {8, 300, 70}),
                                poisoned(rig, {1800, 70}), poisoned(rig, {900, 2})};
    Routing routing = empty_routing(rig, 900, 2, 8);
    const Router router{.balance = 0.5F, .z = 0.5F};
    of.route(routing, made[2], logits, {}, router);
    of.route_backward(made[0], routed.weights, made[2], logits, routing, router);
    of.combine(made[1], rows, made[2], routing);
    of.grouped_forward(made[3], rows, w, routing.offsets);
    of.grouped_backward_input(made[4], g, w, routing.offsets);
    of.grouped_backward_weight(made[5], rows, g, routing.offsets, false);
    of.combine_backward(made[6], made[7], x, rows, made[2], routing);
    made.push_back(routing.order);
    return made;
  };
  const auto one = all(*ops, alone);
  const auto two = all(*ops_, rig_);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], two[i])) << i;
}

TEST_F(ExpertsTest, RefuseWhatDoesNotFit) {
  const Tensor logits = random(rig_, {4, 3}, 1);
  EXPECT_THROW((void)route(logits, 4), Error);
  const Routing routing = route(logits, 2).routing;
  const Tensor x = random(rig_, {4, 6}, 2);
  Tensor y = rig_.empty({7, 6});
  EXPECT_THROW(ops_->gather(y, x, routing), Error);
  Tensor narrow = rig_.empty({8, 6}, DType::BF16);
  EXPECT_THROW(ops_->gather(narrow, x, routing), Error);
  Weight w(random(rig_, {2, 5, 6}, 3));
  Tensor product = rig_.empty({8, 5});
  EXPECT_THROW(ops_->grouped_forward(product, random(rig_, {8, 6}, 4), w, routing.offsets), Error);
}

}  // namespace
}  // namespace penstock
