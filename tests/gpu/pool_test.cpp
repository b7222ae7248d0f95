// Pooling and enlarging on a GPU beside the CPU's.
#include <limits>

#include "tests/gpu/compare.h"

namespace penstock {
namespace {

class GpuPool : public GpuFloatTest {
 protected:
  DType type_ = GetParam();
  ImageOps& gpu_ = gpu().image();
  ImageOps& cpu_ = cpu().image();
};
PENSTOCK_FLOAT_TYPES(GpuPool);

struct PoolCase {
  Shape image;
  Window window;
};
const std::vector<PoolCase>& pool_cases() {
  static const std::vector<PoolCase> all{
      {{1, 1, 1, 1}, {}},
      {{2, 8, 8, 16}, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2}},
      {{2, 7, 9, 7}, {3, 3, 2, 2, 1, 1, 1, 1}},  // overlapping, padded, channels of no group
      {{1, 6, 5, 24}, {3, 2, 1, 3, 1, 0, 0, 1}},
      {{3, 4, 4, 8}, {2, 2, 3, 3, 0, 0, 0, 0}}};  // pixels that no window sees
  return all;
}

TEST_P(GpuPool, ForwardAndBackward) {
  for (const PoolCase& c : pool_cases()) {
    for (const Pool kind : {Pool::Max, Pool::Average}) {
      for (const int64_t shift : {0, 1}) {
        const Twin x = random(c.image, type_, 1, -1.0, 1.0, shift);
        const Shape pooled = window_output(c.image, c.window, c.image[3]);
        const std::string what =
            (kind == Pool::Max ? "maximum of " : "average of ") + c.image.text();
        Twin y = poisoned(pooled, type_, shift);
        Twin chosen = poisoned(pooled, DType::I32);
        const bool max = kind == Pool::Max;
        gpu_.pool2d_forward(y.gpu, max ? &chosen.gpu : nullptr, x.gpu, c.window, kind);
        cpu_.pool2d_forward(y.cpu, max ? &chosen.cpu : nullptr, x.cpu, c.window, kind);
        expect_close(y, what);
        if (max) expect_close(chosen, what + ", chosen");
        const Twin g = random(pooled, type_, 2);
        Twin dx = poisoned(c.image, type_, shift);
        gpu_.pool2d_backward(dx.gpu, g.gpu, max ? &chosen.gpu : nullptr, c.window, kind);
        cpu_.pool2d_backward(dx.cpu, g.cpu, max ? &chosen.cpu : nullptr, c.window, kind);
        expect_close(dx, what + ", backward");
      }
    }
  }
}

TEST_P(GpuPool, TheFirstOfEqualsIsChosenAndANaNStaysOne) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double low = -std::numeric_limits<double>::infinity();
  for (const std::vector<double>& pixels : {std::vector<double>{1.0, 2.0, 2.0, 1.0},
                                            {1.0, nan, 2.0, 3.0},
                                            {low, low, low, low},
                                            {nan, nan, 1.0, 2.0}}) {
    const Twin x = from_values(pixels, {1, 2, 2, 1}, type_);
    Twin y = poisoned({1, 1, 1, 1}, type_);
    Twin chosen = poisoned({1, 1, 1, 1}, DType::I32);
    const Window window{.kernel_h = 2, .kernel_w = 2};
    gpu_.pool2d_forward(y.gpu, &chosen.gpu, x.gpu, window, Pool::Max);
    cpu_.pool2d_forward(y.cpu, &chosen.cpu, x.cpu, window, Pool::Max);
    expect_close(y, "maximum");
    expect_close(chosen, "chosen");
    gpu_.pool2d_forward(y.gpu, nullptr, x.gpu, window, Pool::Max);
    expect_close(y, "maximum alone");
  }
}

TEST_P(GpuPool, GlobalAverage) {
  for (const Shape& image : {Shape{1, 1, 1, 1}, Shape{2, 7, 7, 64}, Shape{3, 5, 3, 7},
                             Shape{2, 1, 9, 520}, Shape{1, 20, 20, 24}}) {
    const Shape mean{image[0], image[3]};
    for (const int64_t shift : {0, 1}) {
      const Twin x = random(image, type_, 1, -1.0, 1.0, shift);
      Twin y = poisoned(mean, type_, shift);
      gpu_.global_average_forward(y.gpu, x.gpu);
      cpu_.global_average_forward(y.cpu, x.cpu);
      expect_close(y, "mean of " + image.text());
      const Twin g = random(mean, type_, 2, -1.0, 1.0, shift);
      Twin dx = poisoned(image, type_, shift);
      gpu_.global_average_backward(dx.gpu, g.gpu);
      cpu_.global_average_backward(dx.cpu, g.cpu);
      expect_close(dx, "gradient of the mean of " + image.text());
    }
  }
}

TEST_P(GpuPool, Upsampling) {
  for (const Shape& image : {Shape{1, 1, 1, 1}, Shape{2, 3, 5, 16}, Shape{1, 4, 2, 7}}) {
    for (const auto kind : {Upsample::Nearest, Upsample::Bilinear, Upsample::AlignedCorners}) {
      for (const int64_t shift : {0, 1}) {
        const Enlarging how{2, 3, kind};
        const std::string what =
            image.text() + " enlarged by kind " + std::to_string(static_cast<int>(kind));
        const Shape large = enlarged_shape(image, how);
        const Twin x = random(image, type_, 1, -1.0, 1.0, shift);
        Twin y = poisoned(large, type_, shift);
        gpu_.upsample2d_forward(y.gpu, x.gpu, how);
        cpu_.upsample2d_forward(y.cpu, x.cpu, how);
        expect_close(y, what);
        const Twin g = random(large, type_, 2, -1.0, 1.0, shift);
        Twin dx = poisoned(image, type_, shift);
        gpu_.upsample2d_backward(dx.gpu, g.gpu, how);
        cpu_.upsample2d_backward(dx.cpu, g.cpu, how);
        expect_close(dx, what + ", backward");
      }
    }
  }
}

TEST_P(GpuPool, DependsOnShapesNotOnAddresses) {
  const auto run = [&](int64_t shift) {
    const Twin x = random({2, 9, 9, 40}, type_, 1, -1.0, 1.0, shift);
    Twin y = poisoned({2, 40}, type_, shift);
    gpu_.global_average_forward(y.gpu, x.gpu);
    return bytes_of(y.gpu);
  };
  EXPECT_EQ(run(0), run(1));
  EXPECT_EQ(run(0), run(0));
}

}  // namespace
}  // namespace penstock
