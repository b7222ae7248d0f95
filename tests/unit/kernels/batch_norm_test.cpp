// tests/unit/kernels/batch_norm_test.cpp -- batch norm against double loops, its backward halves
// against central differences of those loops.
#include "tests/unit/kernels/normalized.h"

namespace penstock {
namespace {

Normalized batch_norm(const Numbers& x, const Numbers& gamma, const Numbers& beta) {
  const auto channels = static_cast<int64_t>(gamma.size());
  return normalize(
      x, gamma, beta, channels, static_cast<int64_t>(x.size()) / channels,
      [channels](int64_t g, int64_t i) { return static_cast<size_t>(i * channels + g); },
      [](int64_t g, int64_t /*i*/) { return static_cast<size_t>(g); });
}

// The variances that the statistics were made of, as estimates from `count` numbers.
Numbers unbiased(const Normalized& n, int64_t count) {
  Numbers variances;
  for (double rstd : n.rstd) {
    const auto rows = static_cast<double>(count);
    variances.push_back((1.0 / (rstd * rstd) - double{kEpsilon}) * rows / (rows - 1.0));
  }
  return variances;
}

class BatchNormTest : public FloatingTest {
 protected:
  [[nodiscard]] Tensor affine(int64_t width, uint64_t seed) {
    return cpu_.random({width}, DType::F32, seed, 0.5, 1.5);
  }
  [[nodiscard]] Tensor poisoned32(const Shape& shape) { return cpu_.poisoned(shape, DType::F32); }

  std::unique_ptr<BatchNormOps> ops_ = cpu_batch_norm_ops(cpu_.context);
};

TEST_P(BatchNormTest, Forward) {
  for (const int64_t channels : {1, 3, 16, 130}) {
    const Shape shape{2, 9, 5, channels};
    const Tensor x = random(shape, 1, 2.0, 4.0);
    const Tensor gamma = affine(channels, 2);
    const Tensor beta = affine(channels, 3);
    Tensor y = poisoned(shape);
    Tensor mean = poisoned32({channels});
    Tensor rstd = poisoned32({channels});
    Tensor sums = poisoned32({kNormSums, channels});
    ops_->forward(y, mean, rstd, sums, x, gamma, beta, kEpsilon);
    const Numbers xn = doubles_of(x);
    const Normalized expected = batch_norm(xn, doubles_of(gamma), doubles_of(beta));
    expect_close(y, expected.y, "y");
    expect_close(mean, expected.mean, "mean");
    expect_close(rstd, expected.rstd, "rstd");
    Tensor variance = poisoned32({channels});
    ops_->moments(mean, variance, sums, static_cast<double>(shape.rows()));
    expect_close(mean, expected.mean, "mean of the sums");
    expect_close(variance, unbiased(expected, shape.rows()), "variance of the sums");
  }
}

// E[x^2] - mean^2 in fp32 would find a variance of 0 here, or less.
TEST(BatchNorm, VarianceFarFromZero) {
  TestCpu cpu(1);
  const Tensor x = cpu.random({400, 4}, DType::F32, 1, 5000.0, 5001.0);
  const Tensor ones = cpu.of({1, 1, 1, 1}, {4}, DType::F32);
  Tensor y = cpu.poisoned({400, 4}, DType::F32);
  Tensor mean = cpu.poisoned({4}, DType::F32);
  Tensor rstd = cpu.poisoned({4}, DType::F32);
  Tensor sums = cpu.poisoned({kNormSums, 4}, DType::F32);
  cpu_batch_norm_ops(cpu.context)->forward(y, mean, rstd, sums, x, ones, ones, kEpsilon);
  const Normalized expected = batch_norm(doubles_of(x), doubles_of(ones), doubles_of(ones));
  expect_close(rstd, expected.rstd, 1e-4, "rstd");
  // Nor do sums lose it.
  Tensor variance = cpu.poisoned({4}, DType::F32);
  cpu_batch_norm_ops(cpu.context)->moments(mean, variance, sums, 400.0);
  expect_close(variance, unbiased(expected, 400), 1e-6, "variance");
}

TEST_P(BatchNormTest, OfNoPositions) {
  const Shape shape{0, 3, 4};
  const Tensor x = random(shape, 1);
  const Tensor gamma = affine(4, 2);
  Tensor y = poisoned(shape);
  Tensor mean = poisoned32({4});
  Tensor rstd = poisoned32({4});
  Tensor sums = poisoned32({kNormSums, 4});
  ops_->forward(y, mean, rstd, sums, x, gamma, gamma, kEpsilon);
  EXPECT_EQ(doubles_of(mean), Numbers(4, 0.0));
  expect_close(rstd, Numbers(4, 1.0 / std::sqrt(double{kEpsilon})), "rstd");
  EXPECT_EQ(doubles_of(sums), Numbers(4 * kNormSums, 0.0));
  Tensor dparameters = poisoned32({2, 4});
  ops_->backward(y, dparameters, x, x, mean, rstd, gamma);
  EXPECT_EQ(doubles_of(dparameters), Numbers(8, 0.0));
}

TEST_P(BatchNormTest, Inference) {
  const int64_t channels = 6;
  const Shape shape{4, 3, channels};
  const Tensor x = random(shape, 1);
  const Tensor gamma = affine(channels, 2);
  const Tensor beta = affine(channels, 3);
  const Tensor mean = affine(channels, 4);
  const Tensor variance = affine(channels, 5);
  Tensor y = poisoned(shape);
  ops_->inference(y, x, mean, variance, gamma, beta, kEpsilon);
  Numbers expected = doubles_of(x);
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t c = i % 6;
    expected[i] = (expected[i] - doubles_of(mean)[c]) /
                      std::sqrt(doubles_of(variance)[c] + double{kEpsilon}) * doubles_of(gamma)[c] +
                  doubles_of(beta)[c];
  }
  expect_close(y, expected, "y");
}

TEST_P(BatchNormTest, Backward) {
  const int64_t channels = 3;
  const Shape shape{5, 11, channels};
  const Tensor x = random(shape, 1);
  const Tensor g = random(shape, 2);
  const Tensor gamma = affine(channels, 3);
  const Tensor beta = affine(channels, 4);
  Tensor y = poisoned(shape);
  Tensor mean = poisoned32({channels});
  Tensor rstd = poisoned32({channels});
  Tensor sums = poisoned32({kNormSums, channels});
  ops_->forward(y, mean, rstd, sums, x, gamma, beta, kEpsilon);
  Tensor dx = poisoned(shape);
  Tensor dparameters = poisoned32({2, channels});
  ops_->backward(dx, dparameters, g, x, mean, rstd, gamma);

  const Numbers xn = doubles_of(x);
  const Numbers gn = doubles_of(g);
  const Numbers gamma_n = doubles_of(gamma);
  const Numbers beta_n = doubles_of(beta);
  expect_close(dx,
               central_differences(
                   [&](const Numbers& v) { return dot(batch_norm(v, gamma_n, beta_n).y, gn); }, xn),
               "dx");
  Numbers expected = central_differences(
      [&](const Numbers& v) { return dot(batch_norm(xn, v, beta_n).y, gn); }, gamma_n);
  const Numbers dbeta = central_differences(
      [&](const Numbers& v) { return dot(batch_norm(xn, gamma_n, v).y, gn); }, beta_n);
  expected.insert(expected.end(), dbeta.begin(), dbeta.end());
  expect_close(dparameters, expected, 1e-4, "dparameters");
}

TEST_P(BatchNormTest, RepeatsToTheBit) {
  const DType type = GetParam();
  expect_repeatable([type](TestCpu& cpu, int64_t shift) {
    const auto ops = cpu_batch_norm_ops(cpu.context);
    const int64_t rows = 1500;
    const int64_t width = 45;
    const Tensor x = cpu.random({rows, width}, type, 1, -1.0, 1.0, shift);
    const Tensor g = cpu.random({rows, width}, type, 2, -1.0, 1.0, shift);
    const Tensor gamma = cpu.random({width}, DType::F32, 3, 0.5, 1.5, shift);
    const auto out = [&](const Shape& shape, DType of) { return cpu.poisoned(shape, of, shift); };
    Tensor y = out({rows, width}, type);
    Tensor mean = out({width}, DType::F32);
    Tensor rstd = out({width}, DType::F32);
    Tensor sums = out({kNormSums, width}, DType::F32);
    Tensor dx = out({rows, width}, type);
    Tensor dparameters = out({2, width}, DType::F32);
    ops->forward(y, mean, rstd, sums, x, gamma, gamma, kEpsilon);
    ops->backward(dx, dparameters, g, x, mean, rstd, gamma);
    return std::vector<Tensor>{y, mean, rstd, sums, dx, dparameters};
  });
}

INSTANTIATE_TEST_SUITE_P(Types, BatchNormTest, ::testing::Values(DType::F32, DType::BF16),
                         floating_name);

}  // namespace
}  // namespace penstock
