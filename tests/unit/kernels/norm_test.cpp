// tests/unit/kernels/norm_test.cpp -- layer norm and batch norm against double loops, their
// backward halves against central differences of those loops.
#include "tests/unit/kernels/loops_reference.h"

namespace penstock {
namespace {

constexpr float kEpsilon = 1e-5F;

struct Normalized {
  Numbers y, mean, rstd;
};

// Groups of elements with a common mean: element(group, i) is an index into x, channel(group, i)
// one into gamma and beta.
template <class Element, class Channel>
Normalized normalize(const Numbers& x, const Numbers& gamma, const Numbers& beta, int64_t groups,
                     int64_t count, const Element& element, const Channel& channel) {
  Normalized n{Numbers(x.size()), {}, {}};
  for (int64_t g = 0; g < groups; ++g) {
    double mean = 0.0;
    double variance = 0.0;
    for (int64_t i = 0; i < count; ++i) mean += x[element(g, i)] / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) {
      variance += std::pow(x[element(g, i)] - mean, 2) / static_cast<double>(count);
    }
    const double rstd = 1.0 / std::sqrt(variance + double{kEpsilon});
    for (int64_t i = 0; i < count; ++i) {
      n.y[element(g, i)] =
          (x[element(g, i)] - mean) * rstd * gamma[channel(g, i)] + beta[channel(g, i)];
    }
    n.mean.push_back(mean);
    n.rstd.push_back(rstd);
  }
  return n;
}

Normalized layer_norm(const Numbers& x, const Numbers& gamma, const Numbers& beta) {
  const auto width = static_cast<int64_t>(gamma.size());
  return normalize(
      x, gamma, beta, static_cast<int64_t>(x.size()) / width, width,
      [width](int64_t g, int64_t i) { return static_cast<size_t>(g * width + i); },
      [](int64_t /*g*/, int64_t i) { return static_cast<size_t>(i); });
}

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

class NormTest : public FloatingTest {
 protected:
  [[nodiscard]] Tensor affine(int64_t width, uint64_t seed) {
    return cpu_.random({width}, DType::F32, seed, 0.5, 1.5);
  }
  [[nodiscard]] Tensor poisoned32(const Shape& shape) { return cpu_.poisoned(shape, DType::F32); }

  std::unique_ptr<NormOps> ops_ = cpu_norm_ops(cpu_.context);
};

TEST_P(NormTest, LayerNormForward) {
  for (const int64_t width : {1, 7, 64, 131}) {
    const Shape shape{3, 5, width};
    const Tensor x = random(shape, 1, 2.0, 4.0);
    const Tensor gamma = affine(width, 2);
    const Tensor beta = affine(width, 3);
    Tensor y = poisoned(shape);
    Tensor mean = poisoned32({15});
    Tensor rstd = poisoned32({15});
    ops_->layer_norm_forward(y, mean, rstd, x, gamma, beta, kEpsilon);
    const Normalized expected = layer_norm(numbers_of(x), numbers_of(gamma), numbers_of(beta));
    expect_close(y, expected.y, "y");
    expect_close(mean, expected.mean, "mean");
    expect_close(rstd, expected.rstd, 1e-4, "rstd");
  }
}

TEST_P(NormTest, LayerNormBackward) {
  const int64_t width = 19;
  const Shape shape{6, width};
  const Tensor x = random(shape, 1);
  const Tensor g = random(shape, 2);
  const Tensor gamma = affine(width, 3);
  const Tensor beta = affine(width, 4);
  Tensor y = poisoned(shape);
  Tensor mean = poisoned32({6});
  Tensor rstd = poisoned32({6});
  ops_->layer_norm_forward(y, mean, rstd, x, gamma, beta, kEpsilon);
  Tensor dx = poisoned(shape);
  ops_->layer_norm_backward_input(dx, g, x, mean, rstd, gamma);
  Tensor dgamma = affine(width, 5);
  Tensor dbeta = affine(width, 6);
  const Numbers dgamma_start = numbers_of(dgamma);
  const Numbers dbeta_start = numbers_of(dbeta);
  ops_->layer_norm_backward_weight(dgamma, dbeta, g, x, mean, rstd);

  const Numbers xn = numbers_of(x);
  const Numbers gn = numbers_of(g);
  const Numbers gamma_n = numbers_of(gamma);
  const Numbers beta_n = numbers_of(beta);
  expect_close(dx,
               central_differences(
                   [&](const Numbers& v) { return dot(layer_norm(v, gamma_n, beta_n).y, gn); }, xn),
               "dx");
  expect_close(
      dgamma,
      plus(dgamma_start,
           central_differences(
               [&](const Numbers& v) { return dot(layer_norm(xn, v, beta_n).y, gn); }, gamma_n)),
      "dgamma");
  expect_close(
      dbeta,
      plus(dbeta_start,
           central_differences(
               [&](const Numbers& v) { return dot(layer_norm(xn, gamma_n, v).y, gn); }, beta_n)),
      "dbeta");
}

TEST_P(NormTest, RmsNorm) {
  for (const int64_t width : {1, 7, 64, 131}) {
    const Shape shape{2, 3, width};
    const Tensor x = random(shape, 1, -1.0, 2.0);
    const Tensor g = random(shape, 2);
    const Tensor gamma = affine(width, 3);
    const auto rms_norm = [width](const Numbers& xs, const Numbers& scales, Numbers* rstds) {
      Numbers y(xs.size());
      const auto w = static_cast<size_t>(width);
      for (size_t row = 0; row < xs.size(); row += w) {
        double squares = 0.0;
        for (size_t i = row; i < row + w; ++i) squares += xs[i] * xs[i];
        const double rstd = 1.0 / std::sqrt(squares / static_cast<double>(w) + double{kEpsilon});
        if (rstds != nullptr) rstds->push_back(rstd);
        for (size_t i = 0; i < w; ++i) y[row + i] = xs[row + i] * rstd * scales[i];
      }
      return y;
    };
    const Numbers xn = numbers_of(x);
    const Numbers gn = numbers_of(g);
    const Numbers gamma_n = numbers_of(gamma);
    Tensor y = poisoned(shape);
    Tensor rstd = poisoned32({6});
    ops_->rms_norm_forward(y, rstd, x, gamma, kEpsilon);
    Numbers expected_rstd;
    expect_close(y, rms_norm(xn, gamma_n, &expected_rstd), "y");
    expect_close(rstd, expected_rstd, 1e-4, "rstd");
    Tensor dx = poisoned(shape);
    ops_->rms_norm_backward_input(dx, g, x, rstd, gamma);
    const auto through_x = [&](const Numbers& v) { return dot(rms_norm(v, gamma_n, nullptr), gn); };
    // Of one column it is a rounding error.
    if (width > 1) expect_close(dx, central_differences(through_x, xn), "dx");
    Tensor dgamma = affine(width, 5);
    const Numbers start = numbers_of(dgamma);
    ops_->rms_norm_backward_weight(dgamma, g, x, rstd);
    const auto through_gamma = [&](const Numbers& v) { return dot(rms_norm(xn, v, nullptr), gn); };
    expect_close(dgamma, plus(start, central_differences(through_gamma, gamma_n)), "dgamma");
  }
}

// Long enough for several blocks of rows and threads; a wrong block border loses or doubles rows.
TEST_P(NormTest, LayerNormWeightGradientOfManyRows) {
  const int64_t rows = 2500;
  const int64_t width = 70;
  const Tensor x = random({rows, width}, 1);
  const Tensor g = random({rows, width}, 2);
  const Tensor mean = cpu_.random({rows}, DType::F32, 3);
  const Tensor rstd = cpu_.random({rows}, DType::F32, 4, 0.5, 1.5);
  Tensor dgamma = affine(width, 5);
  Tensor dbeta = affine(width, 6);
  Numbers expected_gamma = numbers_of(dgamma);
  Numbers expected_beta = numbers_of(dbeta);
  ops_->layer_norm_backward_weight(dgamma, dbeta, g, x, mean, rstd);
  const Numbers xn = numbers_of(x);
  const Numbers gn = numbers_of(g);
  const Numbers mu = numbers_of(mean);
  const Numbers rs = numbers_of(rstd);
  for (size_t i = 0; i < xn.size(); ++i) {
    const size_t row = i / static_cast<size_t>(width);
    expected_gamma[i % static_cast<size_t>(width)] += gn[i] * (xn[i] - mu[row]) * rs[row];
    expected_beta[i % static_cast<size_t>(width)] += gn[i];
  }
  expect_close(dgamma, expected_gamma, 1e-4, "dgamma");
  expect_close(dbeta, expected_beta, 1e-4, "dbeta");
}

TEST_P(NormTest, BatchNormForward) {
  for (const int64_t channels : {1, 3, 16, 130}) {
    const Shape shape{2, 9, 5, channels};
    const Tensor x = random(shape, 1, 2.0, 4.0);
    const Tensor gamma = affine(channels, 2);
    const Tensor beta = affine(channels, 3);
    Tensor y = poisoned(shape);
    Tensor mean = poisoned32({channels});
    Tensor rstd = poisoned32({channels});
    Tensor sums = poisoned32({kNormSums, channels});
    ops_->batch_norm_forward(y, mean, rstd, sums, x, gamma, beta, kEpsilon);
    const Numbers xn = numbers_of(x);
    const Normalized expected = batch_norm(xn, numbers_of(gamma), numbers_of(beta));
    expect_close(y, expected.y, "y");
    expect_close(mean, expected.mean, "mean");
    expect_close(rstd, expected.rstd, "rstd");
    Tensor variance = poisoned32({channels});
    ops_->batch_norm_moments(mean, variance, sums, static_cast<double>(shape.rows()));
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
  cpu_norm_ops(cpu.context)->batch_norm_forward(y, mean, rstd, sums, x, ones, ones, kEpsilon);
  const Normalized expected = batch_norm(numbers_of(x), numbers_of(ones), numbers_of(ones));
  expect_close(rstd, expected.rstd, 1e-4, "rstd");
  // Nor do sums lose it.
  Tensor variance = cpu.poisoned({4}, DType::F32);
  cpu_norm_ops(cpu.context)->batch_norm_moments(mean, variance, sums, 400.0);
  expect_close(variance, unbiased(expected, 400), 1e-6, "variance");
}

TEST_P(NormTest, BatchNormOfNoPositions) {
  const Shape shape{0, 3, 4};
  const Tensor x = random(shape, 1);
  const Tensor gamma = affine(4, 2);
  Tensor y = poisoned(shape);
  Tensor mean = poisoned32({4});
  Tensor rstd = poisoned32({4});
  Tensor sums = poisoned32({kNormSums, 4});
  ops_->batch_norm_forward(y, mean, rstd, sums, x, gamma, gamma, kEpsilon);
  EXPECT_EQ(numbers_of(mean), Numbers(4, 0.0));
  expect_close(rstd, Numbers(4, 1.0 / std::sqrt(double{kEpsilon})), "rstd");
  EXPECT_EQ(numbers_of(sums), Numbers(4 * kNormSums, 0.0));
  Tensor dparameters = poisoned32({2, 4});
  ops_->batch_norm_backward(y, dparameters, x, x, mean, rstd, gamma);
  EXPECT_EQ(numbers_of(dparameters), Numbers(8, 0.0));
}

TEST_P(NormTest, BatchNormInference) {
  const int64_t channels = 6;
  const Shape shape{4, 3, channels};
  const Tensor x = random(shape, 1);
  const Tensor gamma = affine(channels, 2);
  const Tensor beta = affine(channels, 3);
  const Tensor mean = affine(channels, 4);
  const Tensor variance = affine(channels, 5);
  Tensor y = poisoned(shape);
  ops_->batch_norm_inference(y, x, mean, variance, gamma, beta, kEpsilon);
  Numbers expected = numbers_of(x);
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t c = i % 6;
    expected[i] = (expected[i] - numbers_of(mean)[c]) /
                      std::sqrt(numbers_of(variance)[c] + double{kEpsilon}) * numbers_of(gamma)[c] +
                  numbers_of(beta)[c];
  }
  expect_close(y, expected, "y");
}

TEST_P(NormTest, BatchNormBackward) {
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
  ops_->batch_norm_forward(y, mean, rstd, sums, x, gamma, beta, kEpsilon);
  Tensor dx = poisoned(shape);
  Tensor dparameters = poisoned32({2, channels});
  ops_->batch_norm_backward(dx, dparameters, g, x, mean, rstd, gamma);

  const Numbers xn = numbers_of(x);
  const Numbers gn = numbers_of(g);
  const Numbers gamma_n = numbers_of(gamma);
  const Numbers beta_n = numbers_of(beta);
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

TEST_P(NormTest, RepeatsToTheBit) {
  const DType type = GetParam();
  expect_repeatable([type](TestCpu& cpu, int64_t shift) {
    const auto ops = cpu_norm_ops(cpu.context);
    const int64_t rows = 1500;
    const int64_t width = 45;
    const Tensor x = cpu.random({rows, width}, type, 1, -1.0, 1.0, shift);
    const Tensor g = cpu.random({rows, width}, type, 2, -1.0, 1.0, shift);
    const Tensor gamma = cpu.random({width}, DType::F32, 3, 0.5, 1.5, shift);
    const auto out = [&](const Shape& shape, DType of) { return cpu.poisoned(shape, of, shift); };
    Tensor y = out({rows, width}, type);
    Tensor mean = out({rows}, DType::F32);
    Tensor rstd = out({rows}, DType::F32);
    Tensor dx = out({rows, width}, type);
    Tensor dgamma = cpu.random({width}, DType::F32, 4, 0.0, 1.0, shift);
    Tensor dbeta = cpu.random({width}, DType::F32, 5, 0.0, 1.0, shift);
    ops->layer_norm_forward(y, mean, rstd, x, gamma, gamma, kEpsilon);
    ops->layer_norm_backward_input(dx, g, x, mean, rstd, gamma);
    ops->layer_norm_backward_weight(dgamma, dbeta, g, x, mean, rstd);
    Tensor by = out({rows, width}, type);
    Tensor bmean = out({width}, DType::F32);
    Tensor brstd = out({width}, DType::F32);
    Tensor sums = out({kNormSums, width}, DType::F32);
    Tensor bdx = out({rows, width}, type);
    Tensor dparameters = out({2, width}, DType::F32);
    ops->batch_norm_forward(by, bmean, brstd, sums, x, gamma, gamma, kEpsilon);
    ops->batch_norm_backward(bdx, dparameters, g, x, bmean, brstd, gamma);
    return std::vector<Tensor>{y,  mean,  rstd,  dx,   dgamma, dbeta,
                               by, bmean, brstd, sums, bdx,    dparameters};
  });
}

INSTANTIATE_TEST_SUITE_P(Types, NormTest, ::testing::Values(DType::F32, DType::BF16),
                         floating_name);

}  // namespace
}  // namespace penstock
