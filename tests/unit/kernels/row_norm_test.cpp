// tests/unit/kernels/row_norm_test.cpp -- layer norm and RMS norm against double loops, their
// backward halves against central differences of those loops.
#include "tests/unit/kernels/normalized.h"

namespace penstock {
namespace {

Normalized layer_norm(const Numbers& x, const Numbers& gamma, const Numbers& beta) {
  const auto width = static_cast<int64_t>(gamma.size());
  return normalize(
      x, gamma, beta, static_cast<int64_t>(x.size()) / width, width,
      [width](int64_t g, int64_t i) { return static_cast<size_t>(g * width + i); },
      [](int64_t /*g*/, int64_t i) { return static_cast<size_t>(i); });
}

class RowNormTest : public FloatingTest {
 protected:
  [[nodiscard]] Tensor affine(int64_t width, uint64_t seed) {
    return cpu_.random({width}, DType::F32, seed, 0.5, 1.5);
  }
  [[nodiscard]] Tensor poisoned32(const Shape& shape) { return cpu_.poisoned(shape, DType::F32); }

  std::unique_ptr<RowNormOps> ops_ = cpu_row_norm_ops(cpu_.context);
};

TEST_P(RowNormTest, LayerNormForward) {
  for (const int64_t width : {1, 7, 64, 131}) {
    const Shape shape{3, 5, width};
    const Tensor x = random(shape, 1, 2.0, 4.0);
    const Tensor gamma = affine(width, 2);
    const Tensor beta = affine(width, 3);
    Tensor y = poisoned(shape);
    Tensor mean = poisoned32({15});
    Tensor rstd = poisoned32({15});
    ops_->layer_norm_forward(y, mean, rstd, x, gamma, beta, kEpsilon);
    const Normalized expected = layer_norm(doubles_of(x), doubles_of(gamma), doubles_of(beta));
    expect_close(y, expected.y, "y");
    expect_close(mean, expected.mean, "mean");
    expect_close(rstd, expected.rstd, 1e-4, "rstd");
    const Numbers zeros(static_cast<size_t>(width), 0.0);
    ops_->layer_norm_forward(y, mean, rstd, x, gamma, Tensor(), kEpsilon);
    expect_close(y, layer_norm(doubles_of(x), doubles_of(gamma), zeros).y, "y without beta");
  }
}

TEST_P(RowNormTest, LayerNormBackward) {
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
  const Numbers dgamma_start = doubles_of(dgamma);
  const Numbers dbeta_start = doubles_of(dbeta);
  ops_->layer_norm_backward_weight(dgamma, dbeta, g, x, mean, rstd);
  Tensor alone = affine(width, 5);
  Tensor none;
  ops_->layer_norm_backward_weight(alone, none, g, x, mean, rstd);
  EXPECT_EQ(doubles_of(alone), doubles_of(dgamma)) << "without a beta";

  const Numbers xn = doubles_of(x);
  const Numbers gn = doubles_of(g);
  const Numbers gamma_n = doubles_of(gamma);
  const Numbers beta_n = doubles_of(beta);
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

TEST_P(RowNormTest, RmsNorm) {
  for (const int64_t width : {1, 7, 64, 131}) {
    const float offset = width == 7 || width == 131 ? 1.0F : 0.0F;
    const Shape shape{2, 3, width};
    const Tensor x = random(shape, 1, -1.0, 2.0);
    const Tensor g = random(shape, 2);
    const Tensor gamma = affine(width, 3);
    const auto rms_norm = [width, offset](const Numbers& xs, const Numbers& scales,
                                          Numbers* rstds) {
      Numbers y(xs.size());
      const auto w = static_cast<size_t>(width);
      for (size_t row = 0; row < xs.size(); row += w) {
        double squares = 0.0;
        for (size_t i = row; i < row + w; ++i) squares += xs[i] * xs[i];
        const double rstd = 1.0 / std::sqrt(squares / static_cast<double>(w) + double{kEpsilon});
        if (rstds != nullptr) rstds->push_back(rstd);
        for (size_t i = 0; i < w; ++i) y[row + i] = xs[row + i] * rstd * (offset + scales[i]);
      }
      return y;
    };
    const Numbers xn = doubles_of(x);
    const Numbers gn = doubles_of(g);
    const Numbers gamma_n = doubles_of(gamma);
    Tensor y = poisoned(shape);
    Tensor rstd = poisoned32({6});
    ops_->rms_norm_forward(y, rstd, x, gamma, offset, kEpsilon);
    Numbers expected_rstd;
    expect_close(y, rms_norm(xn, gamma_n, &expected_rstd), "y");
    expect_close(rstd, expected_rstd, 1e-4, "rstd");
    Tensor dx = poisoned(shape);
    ops_->rms_norm_backward_input(dx, g, x, rstd, gamma, offset);
    const auto through_x = [&](const Numbers& v) { return dot(rms_norm(v, gamma_n, nullptr), gn); };
    // The gradient of one column is a rounding error.
    if (width > 1) expect_close(dx, central_differences(through_x, xn), "dx");
    Tensor dgamma = affine(width, 5);
    const Numbers start = doubles_of(dgamma);
    ops_->rms_norm_backward_weight(dgamma, g, x, rstd);
    const auto through_gamma = [&](const Numbers& v) { return dot(rms_norm(xn, v, nullptr), gn); };
    expect_close(dgamma, plus(start, central_differences(through_gamma, gamma_n)), "dgamma");
  }
}

// Long enough for several blocks of rows and threads; a wrong block border loses or doubles rows.
TEST_P(RowNormTest, LayerNormWeightGradientOfManyRows) {
  const int64_t rows = 2500;
  const int64_t width = 70;
  const Tensor x = random({rows, width}, 1);
  const Tensor g = random({rows, width}, 2);
  const Tensor mean = cpu_.random({rows}, DType::F32, 3);
  const Tensor rstd = cpu_.random({rows}, DType::F32, 4, 0.5, 1.5);
  Tensor dgamma = affine(width, 5);
  Tensor dbeta = affine(width, 6);
  Numbers expected_gamma = doubles_of(dgamma);
  Numbers expected_beta = doubles_of(dbeta);
  ops_->layer_norm_backward_weight(dgamma, dbeta, g, x, mean, rstd);
  const Numbers xn = doubles_of(x);
  const Numbers gn = doubles_of(g);
  const Numbers mu = doubles_of(mean);
  const Numbers rs = doubles_of(rstd);
  for (size_t i = 0; i < xn.size(); ++i) {
    const size_t row = i / static_cast<size_t>(width);
    expected_gamma[i % static_cast<size_t>(width)] += gn[i] * (xn[i] - mu[row]) * rs[row];
    expected_beta[i % static_cast<size_t>(width)] += gn[i];
  }
  expect_close(dgamma, expected_gamma, 1e-4, "dgamma");
  expect_close(dbeta, expected_beta, 1e-4, "dbeta");
}

TEST_P(RowNormTest, RepeatsToTheBit) {
  const DType type = GetParam();
  expect_repeatable([type](TestCpu& cpu, int64_t shift) {
    const auto ops = cpu_row_norm_ops(cpu.context);
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
    return std::vector<Tensor>{y, mean, rstd, dx, dgamma, dbeta};
  });
}

INSTANTIATE_TEST_SUITE_P(Types, RowNormTest, ::testing::Values(DType::F32, DType::BF16),
                         floating_name);

}  // namespace
}  // namespace penstock
