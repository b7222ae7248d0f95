// Functions that make images larger: the values of transposed convolutions against plain loops, and
// gradients by central differences.
#include "gradients.h"

namespace penstock {
namespace {

class Enlarged : public AutogradTest {
 protected:
  // What torch's ConvTranspose2d does: each pixel of x adds its products to a window of y.
  static std::vector<double> spread(const Tensor& x, const Parameter& weight, const Parameter* bias,
                                    const Window& window, int64_t groups, const Shape& result) {
    const int64_t out = result[3];
    const int64_t in = x.dim(3);
    std::vector<double> y(static_cast<size_t>(result.elements()));
    for (size_t i = 0; bias != nullptr && i < y.size(); ++i) {
      y[i] = double{bias->weight.value().data<float>()[i % static_cast<size_t>(out)]};
    }
    const float* from = x.data<float>();
    const float* w = weight.weight.value().data<float>();
    for (int64_t at = 0; at < x.elements(); ++at) {
      const int64_t i = at % in;
      const int64_t pixel = at / in;
      const int64_t column = pixel % x.dim(2);
      const int64_t row = pixel / x.dim(2) % x.dim(1);
      const int64_t n = pixel / x.dim(2) / x.dim(1);
      for (int64_t o = 0; o < out / groups; ++o) {
        for (int64_t ky = 0; ky < window.kernel_h; ++ky) {
          for (int64_t kx = 0; kx < window.kernel_w; ++kx) {
            const int64_t oy = row * window.stride_h - window.pad_top + ky;
            const int64_t ox = column * window.stride_w - window.pad_left + kx;
            if (oy < 0 || ox < 0 || oy >= result[1] || ox >= result[2]) continue;
            const int64_t channel = i / (in / groups) * (out / groups) + o;
            const int64_t filter =
                ((i * (out / groups) + o) * window.kernel_h + ky) * window.kernel_w + kx;
            y[static_cast<size_t>(((n * result[1] + oy) * result[2] + ox) * out + channel)] +=
                double{from[at]} * double{w[filter]};
          }
        }
      }
    }
    return y;
  }
  void expect_spread(const Function& f, const Tensor& x, const std::vector<double>& expected) {
    Tape tape(device());
    const Variable y = f(tape, {{x, -1}});
    ASSERT_EQ(y.value.elements(), std::ssize(expected));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(y.value.data<float>()[i], expected[i], 1e-5) << i;
    }
  }
};

TEST_F(Enlarged, ByTransposedConvolution) {
  const Window doubling{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
  Parameter& weight = parameter({3, 4, 2, 2}, 1);
  Parameter& bias = parameter({4}, 2);
  const Shape result = {2, 6, 4, 4};
  const Tensor x = random({2, 3, 2, 3}, 3);
  const Function f = [&](Tape& t, const Variables& v) {
    return conv2d_transpose(t, v[0], weight, &bias, doubling, 1, result);
  };
  expect_spread(f, x, spread(x, weight, &bias, doubling, 1, result));
  expect_gradients(f, {x});
}

// Overlapping, padded, in groups, with output padding in one axis.
TEST_F(Enlarged, ByAnOverlappingTransposedConvolutionInGroups) {
  const Window window{.kernel_h = 3,
                      .kernel_w = 3,
                      .stride_h = 2,
                      .stride_w = 1,
                      .pad_top = 1,
                      .pad_bottom = 1,
                      .pad_left = 1,
                      .pad_right = 1};
  Parameter& weight = parameter({4, 3, 3, 3}, 1);
  const Shape result = {1, 6, 4, 6};  // 5 rows without output padding
  const Tensor x = random({1, 3, 4, 4}, 3);
  const Function f = [&](Tape& t, const Variables& v) {
    return conv2d_transpose(t, v[0], weight, nullptr, window, 2, result);
  };
  expect_spread(f, x, spread(x, weight, nullptr, window, 2, result));
  expect_gradients(f, {x});
}

TEST_F(Enlarged, ByUpsampling) {
  for (const auto kind : {Upsample::Nearest, Upsample::Bilinear, Upsample::AlignedCorners}) {
    expect_gradients(
        [&](Tape& t, const Variables& x) {
          return upsample2d(t, x[0], {2, 3, kind});
        },
        {random({2, 3, 2, 3}, 1)});
  }
}

}  // namespace
}  // namespace penstock
