// tests/unit/kernels/pointwise_test.cpp -- every element-by-element op against its definition.
#include "tests/unit/kernels/loops_reference.h"

namespace penstock {
namespace {

class PointwiseTest : public FloatingTest {
 protected:
  std::unique_ptr<PointwiseOps> ops_ = cpu_pointwise_ops(cpu_.context);
  std::unique_ptr<ActivationOps> activation_ = cpu_activation_ops(cpu_.context);
};

double pointwise_activation(double x, Activation f) {
  switch (f) {
    case Activation::Relu:
      return x > 0.0 ? x : 0.0;
    case Activation::Gelu:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Activation::GeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
      return x / (1.0 + std::exp(-x));
    case Activation::Tanh:
      return std::tanh(x);
  }
  return 0.0;
}

TEST_P(PointwiseTest, ActivationsAndTheirGradients) {
  const Shape shape{7, 33};
  const Tensor x = random(shape, 1, -4.0, 4.0);
  const Tensor g = random(shape, 2);
  const Numbers xn = doubles_of(x);
  const Numbers gn = doubles_of(g);
  for (const Activation f : {Activation::Relu, Activation::Gelu, Activation::GeluTanh,
                             Activation::Silu, Activation::Tanh}) {
    SCOPED_TRACE(static_cast<int>(f));
    Tensor y = poisoned(shape);
    activation_->forward(y, x, f);
    Numbers expected(xn.size());
    Numbers expected_dx(xn.size());
    for (size_t i = 0; i < xn.size(); ++i) {
      expected[i] = pointwise_activation(xn[i], f);
      expected_dx[i] =
          gn[i] * (pointwise_activation(xn[i] + 1e-5, f) - pointwise_activation(xn[i] - 1e-5, f)) /
          2e-5;
    }
    expect_close(y, expected, "y");
    Tensor dx = poisoned(shape);
    activation_->backward(dx, g, x, f);
    expect_close(dx, expected_dx, "dx");
    Tensor in_place = cpu_.of(xn, shape, GetParam());
    activation_->forward(in_place, in_place, f);
    expect_same_bits({in_place}, {y}, "in place");
    Tensor over_g = cpu_.of(gn, shape, GetParam());
    activation_->backward(over_g, over_g, x, f);
    expect_same_bits({over_g}, {dx}, "over g");
  }
}

TEST_P(PointwiseTest, GatedActivations) {
  const Shape shape{5, 33};
  const Tensor gate = random(shape, 1, -4.0, 4.0);
  const Tensor x = random(shape, 2, -2.0, 2.0);
  const Tensor g = random(shape, 3);
  const Numbers gates = doubles_of(gate);
  const Numbers xs = doubles_of(x);
  const Numbers gs = doubles_of(g);
  for (const Activation f : {Activation::Gelu, Activation::Silu}) {
    Numbers y(xs.size());
    Numbers dgate(xs.size());
    Numbers dx(xs.size());
    Numbers slack(xs.size());  // of what is rounded between two passes
    for (size_t i = 0; i < xs.size(); ++i) {
      const double of_gate = pointwise_activation(gates[i], f);
      const double slope =
          (pointwise_activation(gates[i] + 1e-5, f) - pointwise_activation(gates[i] - 1e-5, f)) /
          2e-5;
      y[i] = of_gate * xs[i];
      dx[i] = of_gate * gs[i];
      dgate[i] = gs[i] * xs[i] * slope;
      slack[i] = 1.01 * reference::rounding_of(GetParam()) *
                 std::max({std::abs(y[i]), std::abs(dx[i]), std::abs(dgate[i])});
    }
    Tensor result = poisoned(shape);
    activation_->gated_forward(result, gate, x, f);
    expect_close(result, y, kTolerance, "y", slack);
    Tensor of_gate = poisoned(shape);
    Tensor of_x = poisoned(shape);
    activation_->gated_backward(of_gate, of_x, g, gate, x, f);
    expect_close(of_gate, dgate, kTolerance, "dgate", slack);
    expect_close(of_x, dx, kTolerance, "dx", slack);
  }
}

// Some numbers lie beyond the limit on each side; none is as near to it as a step of the
// differences.
TEST_P(PointwiseTest, ClampedGates) {
  const Shape shape{5, 33};
  const Tensor gate = random(shape, 1, -4.0, 4.0);
  const Tensor x = random(shape, 2, -4.0, 4.0);
  const Tensor g = random(shape, 3);
  constexpr float kLimit = 2.35F;
  const auto gated = [](double by, double through) {
    const double c = std::min(by, double{kLimit});
    const double u = std::clamp(through, -double{kLimit}, double{kLimit});
    return (u + 1.0) * c / (1.0 + std::exp(-1.702 * c));
  };
  const Numbers gates = doubles_of(gate);
  const Numbers xs = doubles_of(x);
  const Numbers gs = doubles_of(g);
  Numbers y(xs.size());
  Numbers dgate(xs.size());
  Numbers dx(xs.size());
  Numbers slack(xs.size());  // of what is rounded between two passes
  for (size_t i = 0; i < xs.size(); ++i) {
    constexpr double kStep = 1e-5;
    y[i] = gated(gates[i], xs[i]);
    dgate[i] = gs[i] * (gated(gates[i] + kStep, xs[i]) - gated(gates[i] - kStep, xs[i])) / 2e-5;
    dx[i] = gs[i] * (gated(gates[i], xs[i] + kStep) - gated(gates[i], xs[i] - kStep)) / 2e-5;
    slack[i] = 1.01 * reference::rounding_of(GetParam()) *
               std::max({std::abs(y[i]), std::abs(dx[i]), std::abs(dgate[i])});
  }
  EXPECT_GT(std::ranges::count(dgate, 0.0), 0);
  EXPECT_GT(std::ranges::count(dx, 0.0), 0);
  Tensor result = poisoned(shape);
  activation_->clamped_gate_forward(result, gate, x, kLimit);
  expect_close(result, y, kTolerance, "y", slack);
  Tensor of_gate = poisoned(shape);
  Tensor of_x = poisoned(shape);
  activation_->clamped_gate_backward(of_gate, of_x, g, gate, x, kLimit);
  expect_close(of_gate, dgate, kTolerance, "dgate", slack);
  expect_close(of_x, dx, kTolerance, "dx", slack);
}

TEST_P(PointwiseTest, FusedBackwardFromTheOutput) {
  const Shape shape{333};
  const Tensor x = random(shape, 1, -2.0, 2.0);
  const Tensor g = random(shape, 2);
  const Numbers gn = doubles_of(g);
  Numbers relu = doubles_of(x);
  Numbers tanh_y = doubles_of(x);
  for (double& v : relu) v = v > 0.0 ? v : 0.0;
  for (double& v : tanh_y) v = std::tanh(v);
  const Tensor y_relu = cpu_.of(relu, shape, GetParam());
  const Tensor y_tanh = cpu_.of(tanh_y, shape, GetParam());
  Numbers expected_relu = gn;
  Numbers expected_tanh = gn;
  for (size_t i = 0; i < gn.size(); ++i) {
    const double y = doubles_of(y_tanh)[i];
    if (!(relu[i] > 0.0)) expected_relu[i] = 0.0;
    expected_tanh[i] *= 1.0 - y * y;
  }
  Tensor dx = poisoned(shape);
  activation_->fused_backward(dx, g, y_relu, Fused::Relu);
  expect_close(dx, expected_relu, "relu");
  activation_->fused_backward(dx, g, y_tanh, Fused::Tanh);
  expect_close(dx, expected_tanh, "tanh");
  activation_->fused_backward(dx, g, y_tanh, Fused::None);
  expect_close(dx, gn, 0.0, "none");
  Tensor in_place = cpu_.of(gn, shape, GetParam());
  activation_->fused_backward(in_place, in_place, y_relu, Fused::Relu);
  expect_close(in_place, expected_relu, "relu over g");
}

TEST_P(PointwiseTest, SumsAndProducts) {
  const Shape shape{41, 3};
  const Tensor a = random(shape, 1);
  const Tensor b = random(shape, 2);
  const Numbers an = doubles_of(a);
  const Numbers bn = doubles_of(b);
  Numbers sum(an.size());
  Numbers product(an.size());
  Numbers scaled(an.size());
  for (size_t i = 0; i < an.size(); ++i) {
    sum[i] = an[i] + bn[i];
    product[i] = an[i] * bn[i];
    scaled[i] = -2.5 * an[i];
  }
  Tensor y = poisoned(shape);
  ops_->add(y, a, b);
  expect_close(y, sum, "add");
  ops_->multiply(y, a, b);
  expect_close(y, product, "multiply");
  ops_->scale(y, a, -2.5F);
  expect_close(y, scaled, "scale");
  Tensor in_place = cpu_.of(an, shape, GetParam());
  ops_->add(in_place, in_place, b);
  expect_close(in_place, sum, "add in place");
}

TEST_P(PointwiseTest, AccumulateAndCopyBetweenTypes) {
  const Shape shape{77};
  const Tensor a = random(shape, 1);
  const Numbers an = doubles_of(a);
  for (const DType other : {DType::F32, DType::BF16}) {
    Tensor y = cpu_.random(shape, other, 2);
    const Numbers start = doubles_of(y);
    ops_->accumulate(y, a);
    expect_close(y, plus(start, an), "accumulate");
    Tensor copy = cpu_.poisoned(shape, other);
    ops_->copy(copy, a);
    expect_same_bits({copy}, {cpu_.of(an, shape, other)}, "copy");
  }
}

TEST_P(PointwiseTest, BroadcastAndItsGradient) {
  const Shape shape{37, 5, 9};
  const Tensor a = random(shape, 1);
  const Numbers an = doubles_of(a);
  for (const Shape& part : {Shape{9}, Shape{5, 9}, shape}) {
    const Tensor b = cpu_.random(part, DType::F32, 2);
    const Numbers bn = doubles_of(b);
    Tensor y = poisoned(shape);
    ops_->add_broadcast(y, a, b);
    Tensor db = cpu_.random(part, DType::F32, 3);
    Numbers expected_db = doubles_of(db);
    Numbers expected = an;
    for (size_t i = 0; i < an.size(); ++i) {
      expected[i] += bn[i % bn.size()];
      expected_db[i % bn.size()] += an[i];
    }
    expect_close(y, expected, "y");
    ops_->add_broadcast_backward(db, a);
    expect_close(db, expected_db, 2e-5, "db");
  }
  Tensor y = poisoned(shape);
  EXPECT_THROW(ops_->add_broadcast(y, a, cpu_.random({7}, DType::F32, 2)), Error);
}

TEST_P(PointwiseTest, DropoutIsTheDocumentedMask) {
  const RandomStream stream = random_stream(7, hash_name("dropout"), 4, 1);
  const Shape shape{1001, 5};  // not a whole number of Philox blocks
  const Tensor x = random(shape, 1, 0.5, 1.0);
  Tensor y = poisoned(shape);
  ops_->dropout(y, x, 0.3F, stream);
  Numbers expected = doubles_of(x);
  int kept = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool keep = uniform_of(philox(stream, i / 4)[i % 4]) >= 0.3F;
    expected[i] = keep ? expected[i] / (1.0 - double{0.3F}) : 0.0;
    kept += keep ? 1 : 0;
  }
  expect_close(y, expected, "y");
  EXPECT_NEAR(kept / 5005.0, 0.7, 0.02);
  Tensor in_place = cpu_.of(doubles_of(x), shape, GetParam());
  ops_->dropout(in_place, in_place, 0.3F, stream);
  expect_same_bits({in_place}, {y}, "in place");
  ops_->dropout(y, x, 0.0F, stream);
  expect_same_bits({y}, {x}, "rate 0");
}

TEST_P(PointwiseTest, DropoutOfRowsIsTheDocumentedMask) {
  const RandomStream stream = random_stream(7, hash_name("rows"), 4);
  constexpr int64_t kWidth = 35;
  const Shape shape{1001, 5, 7};
  const Tensor x = random(shape, 1, 0.5, 1.0);
  for (const uint64_t first : {0, 3}) {
    Tensor y = poisoned(shape);
    ops_->dropout_rows(y, x, 0.3F, stream, static_cast<int64_t>(first));
    Numbers expected = doubles_of(x);
    int kept = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const uint64_t row = first + i / kWidth;
      const bool keep = uniform_of(philox(stream, row / 4)[row % 4]) >= 0.3F;
      expected[i] = keep ? expected[i] / (1.0 - double{0.3F}) : 0.0;
      kept += keep ? 1 : 0;
    }
    expect_close(y, expected, "y");
    EXPECT_NEAR(kept / (1001.0 * kWidth), 0.7, 0.05);
    Tensor in_place = cpu_.of(doubles_of(x), shape, GetParam());
    ops_->dropout_rows(in_place, in_place, 0.3F, stream, static_cast<int64_t>(first));
    expect_same_bits({in_place}, {y}, "in place");
    ops_->dropout_rows(y, x, 0.0F, stream, static_cast<int64_t>(first));
    expect_same_bits({y}, {x}, "rate 0");
  }
}

TEST(Pointwise, DropoutDropsInfinities) {
  TestCpu cpu(1);
  const Tensor x = cpu.of(Numbers(64, HUGE_VAL), {64}, DType::F32);
  Tensor y = cpu.poisoned({64}, DType::F32);
  cpu_pointwise_ops(cpu.context)->dropout(y, x, 0.5F, {});
  for (const double v : doubles_of(y)) EXPECT_TRUE(v == 0.0 || v == HUGE_VAL) << v;
  cpu_pointwise_ops(cpu.context)->dropout_rows(y, x, 0.5F, {}, 0);
  for (const double v : doubles_of(y)) EXPECT_TRUE(v == 0.0 || v == HUGE_VAL) << v;
}

TEST(Pointwise, DropoutRefusesARateOfOne) {
  TestCpu cpu(1);
  Tensor x = cpu.random({4}, DType::F32, 1);
  EXPECT_THROW(cpu_pointwise_ops(cpu.context)->dropout(x, x, 1.0F, {}), Error);
  EXPECT_THROW(cpu_pointwise_ops(cpu.context)->dropout_rows(x, x, 1.0F, {}, 0), Error);
}

TEST(Pointwise, FillTakesEveryTypeButU8) {
  TestCpu cpu(2);
  const auto ops = cpu_pointwise_ops(cpu.context);
  for (const DType type : {DType::F32, DType::BF16, DType::F64, DType::I32}) {
    Tensor y = cpu.poisoned({100}, type);
    ops->fill(y, -3.0F);
    expect_close(y, Numbers(100, -3.0), 0.0, name_of(type));
  }
  Tensor bytes = cpu.empty({4}, DType::U8);
  EXPECT_THROW(ops->fill(bytes, 0.0F), Error);
}

uint64_t checksum_of(TestCpu& cpu, const Tensor& x) {
  Tensor sum = cpu.empty({2}, DType::I32);
  cpu_pointwise_ops(cpu.context)->checksum(sum, x);
  uint64_t bits = 0;
  std::memcpy(&bits, sum.raw(), sizeof(bits));
  return bits;
}

TEST(Pointwise, AChecksumIsTheSumOfWordsTimesOddNumbers) {
  TestCpu cpu(3);
  for (const DType type : {DType::F32, DType::BF16, DType::F64, DType::I32, DType::U8}) {
    for (const int64_t size : {0, 1, 65, 1000, 100003}) {
      Tensor x = cpu.empty({size}, type);
      auto* bytes = static_cast<uint8_t*>(x.raw());
      for (size_t i = 0; i < x.size_bytes(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 256);
      uint64_t expected = 0;
      for (int64_t i = 0; i < size; ++i) {
        uint64_t word = 0;
        const size_t width = size_of(type);
        std::memcpy(&word, bytes + static_cast<size_t>(i) * width, width);
        expected += (2 * static_cast<uint64_t>(i) + 1) * word;
      }
      EXPECT_EQ(checksum_of(cpu, x), expected) << name_of(type) << " " << size;
    }
  }
}

TEST(Pointwise, AnyOneBitChangesTheChecksum) {
  TestCpu cpu(2);
  Tensor x = cpu.random({5000}, DType::F32, 7);
  const uint64_t before = checksum_of(cpu, x);
  auto* words = static_cast<uint32_t*>(x.raw());
  for (int i = 0; i < 5000; i += 499) {
    for (int bit = 0; bit < 32; ++bit) {
      words[i] ^= 1U << bit;
      EXPECT_NE(checksum_of(cpu, x), before) << i << " " << bit;
      words[i] ^= 1U << bit;
    }
  }
  EXPECT_EQ(checksum_of(cpu, x), before);
}

TEST(Pointwise, MisfitsAreRefused) {
  TestCpu cpu(1);
  const auto ops = cpu_pointwise_ops(cpu.context);
  const Tensor a = cpu.random({4}, DType::F32, 1);
  const Tensor b = cpu.random({4}, DType::BF16, 1);
  const Tensor c = cpu.random({5}, DType::F32, 1);
  Tensor y = cpu.empty({4}, DType::F32);
  EXPECT_THROW(ops->add(y, a, b), Error);
  EXPECT_THROW(ops->add(y, a, c), Error);
  EXPECT_THROW(ops->copy(y, c), Error);
  Tensor whole = cpu.empty({4}, DType::I32);
  EXPECT_THROW(ops->add(whole, whole, whole), Error);
}

TEST_P(PointwiseTest, RepeatsToTheBit) {
  const DType type = GetParam();
  expect_repeatable([type](TestCpu& cpu, int64_t shift) {
    const auto ops = cpu_pointwise_ops(cpu.context);
    const Shape shape{1300, 67};
    const Tensor a = cpu.random(shape, type, 1, -1.0, 1.0, shift);
    const Tensor b = cpu.random(shape, type, 2, -1.0, 1.0, shift);
    Tensor sum = cpu.poisoned(shape, type, shift);
    Tensor dropped = cpu.poisoned(shape, type, shift);
    Tensor db = cpu.random({67}, DType::F32, 3, -1.0, 1.0, shift);
    ops->add(sum, a, b);
    ops->dropout(dropped, a, 0.25F, random_stream(1, 2, 3, 4));
    ops->add_broadcast_backward(db, a);
    return std::vector<Tensor>{sum, dropped, db};
  });
}

INSTANTIATE_TEST_SUITE_P(Types, PointwiseTest, ::testing::Values(DType::F32, DType::BF16),
                         floating_name);

}  // namespace
}  // namespace penstock
