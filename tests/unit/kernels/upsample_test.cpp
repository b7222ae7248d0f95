// Enlarging images against torch's numbers and formula, and its central differences.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/kernels/reference.h"

namespace penstock {
namespace {

using namespace reference;

constexpr double kTolerance = 1e-5;

class Upsampling : public testing::Test {
 protected:
  Tensor enlarged(const Tensor& x, const Enlarging& how) {
    Tensor y = poisoned(rig_, enlarged_shape(x.shape(), how), x.dtype());
    ops_->upsample2d_forward(y, x, how);
    return y;
  }
  Rig rig_{2};
  std::unique_ptr<ImageOps> ops_ = cpu_image_ops(rig_.context);
};

// By torch.nn.functional.interpolate of [[1, 2], [3, 5]] with scale_factor 2 and 3 x 2.
TEST_F(Upsampling, HasTheNumbersOfTorch) {
  Tensor x = rig_.empty({1, 2, 2, 1}, DType::F32);
  const Doubles pixels = {1, 2, 3, 5};
  assign(x, [&](size_t i) { return pixels[i]; });
  EXPECT_EQ(values(enlarged(x, {2, 2, Upsample::Nearest})),
            (Doubles{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 5, 5, 3, 3, 5, 5}));
  EXPECT_EQ(values(enlarged(x, {2, 2, Upsample::Bilinear})),
            (Doubles{1, 1.25, 1.75, 2, 1.5, 1.8125, 2.4375, 2.75, 2.5, 2.9375, 3.8125, 4.25, 3, 3.5,
                     4.5, 5}));
  const Doubles aligned = values(enlarged(x, {3, 2, Upsample::AlignedCorners}));
  const Doubles expected = {1,   4.0 / 3,   5.0 / 3,   2,   1.4, 1.8,       2.2,       2.6,
                            1.8, 34.0 / 15, 41.0 / 15, 3.2, 2.2, 41.0 / 15, 49.0 / 15, 3.8,
                            2.6, 3.2,       3.8,       4.4, 3,   11.0 / 3,  13.0 / 3,  5};
  ASSERT_EQ(aligned.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(aligned[i], expected[i], 1e-6) << i;
}

// One axis of torch's formula, in doubles: adds share * line[i] of a pixel of the result.
template <class Use>
void along(int64_t in, int64_t scale, Upsample kind, int64_t at, const Use& use) {
  const auto out = static_cast<double>(in * scale);
  double place = std::floor(static_cast<double>(at) / static_cast<double>(scale));
  if (kind == Upsample::Bilinear) {
    const double centre = (static_cast<double>(at) + 0.5) / static_cast<double>(scale) - 0.5;
    place = std::max(0.0, centre);
  }
  if (kind == Upsample::AlignedCorners && out > 1) {
    place = static_cast<double>(at) * static_cast<double>(in - 1) / (out - 1);
  }
  const double low = std::floor(place + 1e-9);
  const auto i = static_cast<int64_t>(low);
  use(i, 1.0 - (place - low));
  use(std::min(i + 1, in - 1), place - low);
}

Doubles interpolate(const Doubles& x, const Shape& from, const Enlarging& how) {
  Doubles y;
  const Shape to = enlarged_shape(from, how);
  for (int64_t n = 0; n < to[0]; ++n) {
    for (int64_t oy = 0; oy < to[1]; ++oy) {
      for (int64_t ox = 0; ox < to[2]; ++ox) {
        for (int64_t c = 0; c < to[3]; ++c) {
          double sum = 0.0;
          along(from[1], how.scale_h, how.kind, oy, [&](int64_t iy, double of_row) {
            along(from[2], how.scale_w, how.kind, ox, [&](int64_t ix, double of_column) {
              const int64_t at = ((n * from[1] + iy) * from[2] + ix) * from[3] + c;
              sum += of_row * of_column * x[static_cast<size_t>(at)];
            });
          });
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

TEST_F(Upsampling, IsTheFormulaForwardAndBackward) {
  for (const Shape& image : {Shape{2, 3, 4, 5}, Shape{1, 1, 1, 3}, Shape{1, 5, 1, 18}}) {
    for (const auto kind : {Upsample::Nearest, Upsample::Bilinear, Upsample::AlignedCorners}) {
      for (const auto& [h, w] :
           {std::pair(2, 2), std::pair(3, 1), std::pair(4, 5), std::pair(1, 1)}) {
        const Enlarging how{h, w, kind};
        SCOPED_TRACE(image.text() + " by " + std::to_string(h) + ", " + std::to_string(w) +
                     ", kind " + std::to_string(static_cast<int>(kind)));
        const auto f = [&](const Doubles& v) { return interpolate(v, image, how); };
        for (const DType type : {DType::F32, DType::BF16}) {
          const Tensor x = random(rig_, image, 1, type);
          const Tensor y = enlarged(x, how);
          EXPECT_LE(error(y, f(values(x))), kTolerance);
          const Tensor g = random(rig_, y.shape(), 2, type);
          Tensor dx = poisoned(rig_, image, type);
          ops_->upsample2d_backward(dx, g, how);
          EXPECT_LE(gradient_error(dx, f, x, g), kTolerance);
        }
      }
    }
  }
}

TEST_F(Upsampling, DoesNotDependOnThreads) {
  Rig alone(1);
  const auto ops = cpu_image_ops(alone.context);
  const Enlarging how{3, 2, Upsample::Bilinear};
  const Tensor g = random(rig_, {2, 15, 8, 7}, 1);
  Tensor one = poisoned(alone, {2, 5, 4, 7});
  Tensor two = poisoned(rig_, {2, 5, 4, 7});
  ops->upsample2d_backward(one, g, how);
  ops_->upsample2d_backward(two, g, how);
  EXPECT_EQ(values(one), values(two));
}

// Gradients are summed for some channels at a time.
TEST_F(Upsampling, HasTheGradientsOfEachOfManyChannels) {
  constexpr size_t kChannels = 1026;
  const Enlarging how{2, 2, Upsample::Bilinear};
  const Tensor g = random(rig_, {1, 4, 2, kChannels}, 1);
  Tensor dx = poisoned(rig_, {1, 2, 1, kChannels});
  ops_->upsample2d_backward(dx, g, how);
  for (const size_t channel : {size_t{0}, size_t{1023}, size_t{1024}, size_t{1025}}) {
    Tensor one = rig_.empty({1, 4, 2, 1}, DType::F32);
    assign(one, [&](size_t i) { return values(g)[i * kChannels + channel]; });
    Tensor gradient = poisoned(rig_, {1, 2, 1, 1});
    ops_->upsample2d_backward(gradient, one, how);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(values(dx)[i * kChannels + channel], values(gradient)[i]) << channel;
    }
  }
}

TEST_F(Upsampling, RefusesWhatDoesNotFit) {
  const Tensor x = random(rig_, {1, 3, 3, 2}, 1);
  Tensor y = rig_.empty({1, 6, 5, 2}, DType::F32);
  EXPECT_THROW(ops_->upsample2d_forward(y, x, {}), Error);
  EXPECT_THROW((void)enlarged_shape({1, 3, 3, 2}, {0, 1}), Error);
  EXPECT_THROW((void)enlarged_shape({3, 3, 2}, {2, 2}), Error);
}

}  // namespace
}  // namespace penstock
