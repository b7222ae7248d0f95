// Convolutions and pooling against double loops and their central differences.
#include <gtest/gtest.h>

#include "tests/unit/kernels/reference.h"

namespace penstock {
namespace {

using namespace reference;

struct Mode {
  const char* name;
  DType type;
  Bf16 bf16;
  double tolerance;
};

struct Convolved {
  const char* name;
  Shape x;  // [n, h, w, in]
  int64_t out;
  int groups;
  Window window;
};

const std::vector<Convolved>& cases() {
  static const std::vector<Convolved> list = {
      {"3x3", {2, 9, 7, 16}, 32, 1, {3, 3, 1, 1, 1, 1, 1, 1}},
      {"odd channels", {3, 5, 6, 5}, 7, 1, {3, 3, 1, 1, 1, 1, 1, 1}},
      {"1x7", {2, 4, 11, 8}, 8, 1, {1, 7, 1, 1, 0, 0, 3, 3}},
      {"7x1 strided", {2, 12, 4, 8}, 12, 1, {7, 1, 2, 1, 3, 3, 0, 0}},
      {"asymmetric", {2, 8, 8, 6}, 10, 1, {3, 3, 2, 2, 0, 1, 0, 1}},
      {"1x1", {2, 6, 5, 24}, 40, 1, {}},
      {"1x1 strided, few channels", {2, 20, 20, 2}, 12, 1, {1, 1, 2, 2}},
      {"1x1 strided, one image", {1, 16, 16, 6}, 10, 1, {1, 1, 2, 2}},
      {"1x1 strided, groups", {1, 16, 16, 12}, 10, 2, {1, 1, 2, 2}},
      {"stem", {1, 19, 17, 3}, 16, 1, {7, 7, 2, 2, 3, 3, 3, 3}},
      {"few pixels", {2, 2, 2, 12}, 64, 1, {3, 3, 1, 1, 1, 1, 1, 1}},
      {"few pixels, strided", {1, 4, 5, 3}, 50, 1, {3, 2, 2, 2, 0, 1, 1, 0}},
      {"groups", {2, 6, 6, 32}, 48, 2, {3, 3, 1, 1, 1, 1, 1, 1}},
      {"odd groups", {2, 6, 6, 9}, 6, 3, {3, 3, 1, 1, 1, 1, 1, 1}},
      {"depthwise", {2, 7, 9, 24}, 24, 24, {3, 3, 1, 1, 1, 1, 1, 1}},
      {"depthwise 5x5/2", {2, 9, 9, 19}, 19, 19, {5, 5, 2, 2, 2, 2, 1, 2}},
  };
  return list;
}

Shape output(const Convolved& c) {
  return window_output(c.x, c.window, c.out);
}

Shape filter(const Convolved& c) {
  return {c.out, c.x[3] / c.groups, c.window.kernel_h, c.window.kernel_w};
}

size_t at(const Shape& s, int64_t a, int64_t b, int64_t c, int64_t d) {
  return static_cast<size_t>(((a * s[1] + b) * s[2] + c) * s[3] + d);
}

// Calls body(iy, ix, ky, kx) for each image position under window (oy, ox).
template <class Body>
void for_each_under(const Shape& image, const Window& w, int64_t oy, int64_t ox, Body body) {
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const int64_t iy = oy * w.stride_h - w.pad_top + ky;
      const int64_t ix = ox * w.stride_w - w.pad_left + kx;
      if (iy >= 0 && iy < image[1] && ix >= 0 && ix < image[2]) body(iy, ix, ky, kx);
    }
  }
}

// Calls body(n, oy, ox, channel) in memory order.
template <class Body>
void for_each_element(const Shape& shape, Body body) {
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t y = 0; y < shape[1]; ++y) {
      for (int64_t x = 0; x < shape[2]; ++x) {
        for (int64_t c = 0; c < shape[3]; ++c) body(n, y, x, c);
      }
    }
  }
}

Doubles convolve(const Convolved& c, const Doubles& x, const Doubles& w, const Doubles& bias) {
  const Shape y_shape = output(c);
  const Shape w_shape = filter(c);
  const int64_t in = w_shape[1];
  Doubles y;
  for_each_element(y_shape, [&](int64_t n, int64_t oy, int64_t ox, int64_t o) {
    double sum = bias.empty() ? 0.0 : bias.at(static_cast<size_t>(o));
    const int64_t first = o / (c.out / c.groups) * in;
    for_each_under(c.x, c.window, oy, ox, [&](int64_t iy, int64_t ix, int64_t ky, int64_t kx) {
      for (int64_t i = 0; i < in; ++i) {
        sum += x[at(c.x, n, iy, ix, first + i)] * w[at(w_shape, o, i, ky, kx)];
      }
    });
    y.push_back(sum);
  });
  return y;
}

class Image : public testing::TestWithParam<Mode> {
 protected:
  Rig rig_{2, GetParam().bf16};
  std::unique_ptr<ImageOps> ops_ = cpu_image_ops(rig_.context);
  DType type_ = GetParam().type;
  double tolerance_ = GetParam().tolerance;

  // Distinct values of around 1, far enough apart that no difference step changes a maximum.
  Tensor distinct(const Shape& shape) {
    Tensor x = rig_.empty(shape, type_);
    assign(x, [&](size_t i) { return static_cast<double>(i * 37 % 211) / 64.0 - 1.5; });
    return x;
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, Image,
                         testing::Values(Mode{"fp32", DType::F32, Bf16::Auto, 1e-5},
                                         Mode{"bf16", DType::BF16, Bf16::Auto, 1e-5},
                                         Mode{"bf16_emulated", DType::BF16, Bf16::Emulate, 1e-5}),
                         [](const auto& test) { return test.param.name; });

TEST_P(Image, ConvolutionForward) {
  for (const Convolved& c : cases()) {
    const Tensor x = random(rig_, c.x, 1, type_);
    Weight w(random_weight(rig_, filter(c), 2, type_));
    const Tensor bias = random(rig_, {c.out}, 3);
    for (const bool with_bias : {false, true}) {
      Tensor y = poisoned(rig_, output(c), type_);
      ops_->conv2d_forward(y, x, w, with_bias ? &bias : nullptr, c.window, c.groups, Fused::None);
      const Doubles expected =
          convolve(c, values(x), values(w.value()), with_bias ? values(bias) : Doubles{});
      EXPECT_LE(error(y, expected), tolerance_) << c.name;
    }
  }
}

TEST_P(Image, ConvolutionBackwardInput) {
  for (const Convolved& c : cases()) {
    const Tensor x = random(rig_, c.x, 1, type_);
    Weight w(random_weight(rig_, filter(c), 2, type_));
    const Tensor g = random(rig_, output(c), 3, type_);
    Tensor dx = poisoned(rig_, c.x, type_);
    ops_->conv2d_backward_input(dx, g, w, c.window, c.groups);
    auto f = [&](const Doubles& v) { return convolve(c, v, values(w.value()), {}); };
    EXPECT_LE(gradient_error(dx, f, x, g, {}, 24), tolerance_) << c.name;
  }
}

TEST_P(Image, ConvolutionBackwardWeightAddsToBothGradients) {
  for (const Convolved& c : cases()) {
    const Tensor x = random(rig_, c.x, 1, type_);
    const Tensor w = random_weight(rig_, filter(c), 2, type_);
    const Tensor bias = random(rig_, {c.out}, 3);
    const Tensor g = random(rig_, output(c), 4, type_);
    Tensor dw = random(rig_, filter(c), 5);
    Tensor dbias = random(rig_, {c.out}, 6);
    const Doubles dw_before = values(dw);
    const Doubles dbias_before = values(dbias);
    ops_->conv2d_backward_weight(dw, &dbias, x, g, c.window, c.groups, true);
    auto of_weight = [&](const Doubles& v) { return convolve(c, values(x), v, values(bias)); };
    auto of_bias = [&](const Doubles& v) { return convolve(c, values(x), values(w), v); };
    EXPECT_LE(gradient_error(dw, of_weight, w, g, dw_before, 24), tolerance_) << c.name;
    EXPECT_LE(gradient_error(dbias, of_bias, bias, g, dbias_before, 8), tolerance_) << c.name;
  }
}

TEST_P(Image, WeightGradientsOverwriteWhereToldTo) {
  for (Convolved c : cases()) {
    for (const bool empty : {false, true}) {
      if (empty) c.x[0] = 0;
      const Tensor x = random(rig_, c.x, 1, type_);
      const Tensor g = random(rig_, output(c), 2, type_);
      Tensor added = filled(rig_, filter(c), DType::F32, 0.0);
      Tensor written = poisoned(rig_, filter(c));
      ops_->conv2d_backward_weight(added, nullptr, x, g, c.window, c.groups, true);
      ops_->conv2d_backward_weight(written, nullptr, x, g, c.window, c.groups, false);
      EXPECT_EQ(values(written), values(added)) << c.name;
    }
  }
}

TEST_P(Image, FusingChangesNoBit) {
  for (const Convolved& c : cases()) {
    const Tensor x = random(rig_, c.x, 1, type_);
    Weight w(random_weight(rig_, filter(c), 2, type_));
    const Tensor bias = random(rig_, {c.out}, 3);
    Tensor plain = poisoned(rig_, output(c), type_);
    ops_->conv2d_forward(plain, x, w, &bias, c.window, c.groups, Fused::None);
    for (const auto& [fused, f] :
         {std::pair{Fused::Relu, Activation::Relu}, std::pair{Fused::Tanh, Activation::Tanh}}) {
      Tensor y = poisoned(rig_, output(c), type_);
      ops_->conv2d_forward(y, x, w, &bias, c.window, c.groups, fused);
      Tensor apart = poisoned(rig_, output(c), type_);
      rig_.dnn.activation_forward(apart.raw(), plain.raw(), plain.elements(), type_, f);
      EXPECT_LE(error(y, values(apart)), tolerance_) << c.name << int(fused);
      if (type_ != DType::F32) continue;  // bf16 rounds twice when apart
      EXPECT_EQ(values(y), values(apart)) << c.name << int(fused);
    }
  }
}

TEST_P(Image, ConvolutionsRepeatToTheBitAtAnyAddress) {
  for (const Convolved& c : cases()) {
    auto run = [&](int64_t shift) {  // every buffer starts `shift` elements into its block
      auto shifted = [&](const Shape& shape, uint64_t seed, DType type) {
        const Tensor source = random(rig_, shape, seed, type);
        const Tensor room = rig_.empty({shape.elements() + shift}, type);
        Tensor view = room.view(shift, shape);
        std::memcpy(view.raw(), source.raw(), source.size_bytes());
        return view;
      };
      const Tensor x = shifted(c.x, 1, type_);
      Weight w(shifted(filter(c), 2, DType::F32));
      const Tensor bias = shifted({c.out}, 3, DType::F32);
      Tensor y = shifted(output(c), 4, type_);
      Tensor dx = shifted(c.x, 5, type_);
      Tensor dw = shifted(filter(c), 6, DType::F32);
      Tensor dbias = shifted({c.out}, 7, DType::F32);
      ops_->conv2d_forward(y, x, w, &bias, c.window, c.groups, Fused::Relu);
      ops_->conv2d_backward_input(dx, y, w, c.window, c.groups);
      ops_->conv2d_backward_weight(dw, &dbias, x, y, c.window, c.groups, true);
      return std::array<Tensor, 4>{y, dx, dw, dbias};
    };
    const auto first = run(0);
    const auto again = run(1);
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(same_bits(first[i], again[i])) << c.name << ", result " << i;
    }
  }
}

TEST_P(Image, SteadyStateCreatesAndAllocatesNothing) {
  for (const Convolved& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = random(rig_, c.x, 1, type_);
    Weight w(random_weight(rig_, filter(c), 2, type_));
    const Tensor bias = random(rig_, {c.out}, 3);
    Tensor y = rig_.empty(output(c), type_);
    Tensor dx = rig_.empty(c.x, type_);
    Tensor dw = filled(rig_, filter(c), DType::F32, 0.0);
    Tensor dbias = filled(rig_, {c.out}, DType::F32, 0.0);
    auto step = [&] {
      ops_->conv2d_forward(y, x, w, &bias, c.window, c.groups, Fused::Relu);
      ops_->conv2d_backward_input(dx, y, w, c.window, c.groups);
      ops_->conv2d_backward_weight(dw, &dbias, x, y, c.window, c.groups, true);
      w.changed();
    };
    step();
    const int64_t created = rig_.dnn.primitives_created();
    const int64_t allocations = rig_.memory.use().system_allocations;
    EXPECT_GE(created, 3);
    step();
    step();
    EXPECT_EQ(rig_.dnn.primitives_created(), created);
    EXPECT_EQ(rig_.memory.use().system_allocations, allocations);
  }
}

// A convolution of few pixels reads the fp32 filter where it lies.
TEST_P(Image, FewPixelsNeedNoFormOfTheFilter) {
  if (type_ != DType::F32) GTEST_SKIP() << "in bf16 every convolution is oneDNN's";
  const auto memory_of_forms = [&](int64_t images) {
    const Window window{3, 3, 1, 1, 1, 1, 1, 1};
    const Tensor x = random(rig_, {images, 4, 4, 8}, 1);
    Weight w(random(rig_, {64, 8, 3, 3}, 2));
    Tensor y = rig_.empty({images, 4, 4, 64}, type_);
    Tensor dx = rig_.empty(x.shape(), type_);
    const int64_t before = rig_.memory.use().total_current;
    ops_->conv2d_forward(y, x, w, nullptr, window, 1, Fused::None);
    ops_->conv2d_backward_input(dx, y, w, window, 1);
    return rig_.memory.use().total_current - before;
  };
  EXPECT_EQ(memory_of_forms(2), 0);
  EXPECT_GT(memory_of_forms(3), 0);
}

TEST_P(Image, FormsAreRemadeOnceTheWeightChanged) {
  for (const Convolved& c : cases()) {
    const Tensor x = random(rig_, c.x, 1, type_);
    Weight w(random_weight(rig_, filter(c), 2, type_));
    auto forward = [&](Weight& weight) {
      Tensor y = poisoned(rig_, output(c), type_);
      ops_->conv2d_forward(y, x, weight, nullptr, c.window, c.groups, Fused::None);
      return y;
    };
    const Tensor before = forward(w);
    const Tensor other = random(rig_, filter(c), 3);
    std::memcpy(w.value().raw(), other.raw(), other.size_bytes());
    w.changed();
    Weight fresh(other);
    EXPECT_TRUE(same_bits(forward(w), forward(fresh))) << c.name;
    EXPECT_FALSE(same_bits(forward(w), before)) << c.name;
  }
}

// No form of a weight that is read once stays in memory, nor is one used when the elements change.
TEST_P(Image, FormsOfAWeightThatIsReadOnceAreGoneAfterTheCall) {
  for (const Convolved& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = random(rig_, c.x, 1, type_);
    const Tensor value = random_weight(rig_, filter(c), 2, type_);
    const auto results = [&](Weight& w) {
      Tensor y = poisoned(rig_, output(c), type_);
      Tensor dx = poisoned(rig_, c.x, type_);
      ops_->conv2d_forward(y, x, w, nullptr, c.window, c.groups, Fused::None);
      ops_->conv2d_backward_input(dx, y, w, c.window, c.groups);
      return std::vector<Tensor>{y, dx};
    };
    Weight kept(value);
    Weight read_once(value);
    read_once.read_once();
    const std::vector<Tensor> expected = results(kept);
    const int64_t before = rig_.memory.use().total_current;
    {
      const std::vector<Tensor> got = results(read_once);
      EXPECT_TRUE(same_bits(got[0], expected[0]));
      EXPECT_TRUE(same_bits(got[1], expected[1]));
    }
    if (is_linear(c.window, c.groups)) continue;  // both products read one narrowed copy
    EXPECT_EQ(rig_.memory.use().total_current, before);
  }
}

TEST_P(Image, NoImagesNoHarm) {
  const Window window{3, 3, 1, 1, 1, 1, 1, 1};
  const Tensor x = rig_.empty({0, 5, 5, 4}, type_);
  Tensor y = rig_.empty({0, 5, 5, 4}, type_);
  Tensor chosen = rig_.empty({0, 5, 5, 4}, DType::I32);
  Tensor dx = rig_.empty({0, 5, 5, 4}, type_);
  Tensor mean = rig_.empty({0, 4}, type_);
  Weight w(random(rig_, {4, 4, 3, 3}, 1));
  Tensor dw = random(rig_, {4, 4, 3, 3}, 2);
  Tensor dbias = random(rig_, {4}, 3);
  const Doubles before = values(dw);
  ops_->conv2d_forward(y, x, w, nullptr, window, 1, Fused::None);
  ops_->conv2d_backward_input(dx, y, w, window, 1);
  ops_->conv2d_backward_weight(dw, &dbias, x, y, window, 1, true);
  ops_->pool2d_forward(y, &chosen, x, window, Pool::Max);
  ops_->pool2d_backward(dx, y, &chosen, window, Pool::Max);
  ops_->global_average_forward(mean, x);
  ops_->global_average_backward(dx, mean);
  EXPECT_EQ(values(dw), before);
}

// Pooling: windows over images whose channels are done four, two and one vectors at a time, the
// last one overlapping; and fewer than a vector has.
struct PoolCase {
  Shape image;
  Window window;
  [[nodiscard]] Shape output() const { return window_output(image, window, image[3]); }
};
// With vectors of sixteen channels 102 = 64 + 32 + 6, with vectors of eight 54 = 32 + 16 + 6.
const std::vector<Shape> kPooled = {{2, 7, 6, 102}, {1, 7, 6, 54}, {1, 7, 6, 5}};
std::vector<PoolCase> pool_cases() {
  std::vector<PoolCase> cases;
  for (const Shape& image : kPooled) {
    for (const Window& window : {Window{2, 2, 2, 2, 0, 0, 0, 0}, Window{3, 3, 2, 2, 1, 1, 1, 1},
                                 Window{3, 3, 1, 1, 1, 1, 1, 1}, Window{3, 2, 2, 1, 0, 1, 1, 0},
                                 Window{3, 3, 3, 3, 2, 0, 0, 2}, Window{1, 1, 2, 2, 0, 0, 0, 0}}) {
      cases.push_back({image, window});
    }
  }
  return cases;
}

Doubles pool(const Doubles& x, const PoolCase& pooled, Pool kind, Doubles* chosen = nullptr) {
  const Shape& from = pooled.image;
  const Window& over = pooled.window;
  Doubles y;
  for_each_element(pooled.output(), [&](int64_t n, int64_t oy, int64_t ox, int64_t c) {
    double best = -1e30, sum = 0.0, count = 0.0, where = -1.0;
    for_each_under(from, over, oy, ox, [&](int64_t iy, int64_t ix, int64_t ky, int64_t kx) {
      const double value = x[at(from, n, iy, ix, c)];
      if (value > best) {
        where = static_cast<double>(ky * over.kernel_w + kx);
      }
      best = std::max(best, value);
      sum += value;
      count += 1.0;
    });
    y.push_back(kind == Pool::Max ? best : sum / count);
    if (chosen != nullptr) chosen->push_back(where);
  });
  return y;
}

TEST_P(Image, MaxPooling) {
  for (const PoolCase& pooled : pool_cases()) {
    const Tensor x = distinct(pooled.image);
    Tensor y = poisoned(rig_, pooled.output(), type_);
    Tensor chosen = filled(rig_, pooled.output(), DType::I32, -7);
    ops_->pool2d_forward(y, &chosen, x, pooled.window, Pool::Max);
    Doubles where;
    EXPECT_EQ(values(y), pool(values(x), pooled, Pool::Max, &where));
    EXPECT_EQ(values(chosen), where);
    Tensor alone = poisoned(rig_, pooled.output(), type_);
    ops_->pool2d_forward(alone, nullptr, x, pooled.window, Pool::Max);
    EXPECT_TRUE(same_bits(alone, y));

    const Tensor g = random(rig_, pooled.output(), 1, type_);
    Tensor dx = poisoned(rig_, pooled.image, type_);
    ops_->pool2d_backward(dx, g, &chosen, pooled.window, Pool::Max);
    auto f = [&](const Doubles& v) { return pool(v, pooled, Pool::Max); };
    EXPECT_LE(gradient_error(dx, f, x, g, {}, 50), tolerance_);
  }
}

TEST_P(Image, AveragePoolingLeavesPaddingOut) {
  for (const PoolCase& pooled : pool_cases()) {
    const Tensor x = random(rig_, pooled.image, 1, type_);
    Tensor y = poisoned(rig_, pooled.output(), type_);
    ops_->pool2d_forward(y, nullptr, x, pooled.window, Pool::Average);
    EXPECT_LE(error(y, pool(values(x), pooled, Pool::Average)), tolerance_);

    const Tensor g = random(rig_, pooled.output(), 2, type_);
    Tensor dx = poisoned(rig_, pooled.image, type_);
    ops_->pool2d_backward(dx, g, nullptr, pooled.window, Pool::Average);
    auto f = [&](const Doubles& v) { return pool(v, pooled, Pool::Average); };
    EXPECT_LE(gradient_error(dx, f, x, g, {}, 50), tolerance_);
  }
}

TEST_P(Image, MaxPoolingTakesTheFirstOfEqualsAndKeepsNaN) {
  const Window window{2, 2, 2, 2, 0, 0, 0, 0};
  Tensor x = filled(rig_, {1, 2, 4, 1}, type_, 3.0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  assign(x, [&](size_t i) { return i == 6 ? nan : i == 7 ? 9.0 : 3.0; });
  Tensor y = rig_.empty({1, 1, 2, 1}, type_);
  Tensor chosen = rig_.empty({1, 1, 2, 1}, DType::I32);
  ops_->pool2d_forward(y, &chosen, x, window, Pool::Max);
  EXPECT_EQ(values(y)[0], 3.0);
  EXPECT_EQ(values(chosen)[0], 0.0);
  EXPECT_TRUE(std::isnan(values(y)[1]));
  EXPECT_EQ(values(chosen)[1], 2.0);
}

TEST_P(Image, GlobalAverage) {
  for (const Shape& image : kPooled) {
    const Tensor x = random(rig_, image, 1, type_);
    auto mean = [&](const Doubles& v) {
      Doubles y(static_cast<size_t>(image[0] * image[3]));
      const double pixels = static_cast<double>(image[1] * image[2]);
      for_each_element(image, [&](int64_t n, int64_t iy, int64_t ix, int64_t c) {
        y[static_cast<size_t>(n * image[3] + c)] += v[at(image, n, iy, ix, c)] / pixels;
      });
      return y;
    };
    Tensor y = poisoned(rig_, {image[0], image[3]}, type_);
    ops_->global_average_forward(y, x);
    EXPECT_LE(error(y, mean(values(x))), tolerance_);
    const Tensor g = random(rig_, y.shape(), 2, type_);
    Tensor dx = poisoned(rig_, image, type_);
    ops_->global_average_backward(dx, g);
    EXPECT_LE(gradient_error(dx, mean, x, g), tolerance_);
  }
}

TEST_P(Image, MisfitsAreRefused) {
  const Window window{3, 3, 1, 1, 1, 1, 1, 1};
  const Tensor x = random(rig_, {1, 5, 5, 4}, 1, type_);
  Tensor y = rig_.empty({1, 5, 5, 6}, type_);
  Weight w(random(rig_, {6, 4, 3, 3}, 2));
  Weight grouped(random(rig_, {6, 2, 3, 3}, 3));
  EXPECT_NO_THROW(ops_->conv2d_forward(y, x, w, nullptr, window, 1, Fused::None));
  EXPECT_NO_THROW(ops_->conv2d_forward(y, x, grouped, nullptr, window, 2, Fused::None));
  EXPECT_THROW(ops_->conv2d_forward(y, x, w, nullptr, window, 2, Fused::None), Error);
  EXPECT_THROW(ops_->conv2d_forward(y, x, w, nullptr, window, 0, Fused::None), Error);
  Tensor dw = filled(rig_, {6, 4, 3, 3}, DType::F32, 0.0);
  for (const int64_t size : {5, 7}) {
    Tensor bias = filled(rig_, {size}, DType::F32, 0.0);
    EXPECT_THROW(ops_->conv2d_forward(y, x, w, &bias, window, 1, Fused::None), Error);
    EXPECT_THROW(ops_->conv2d_backward_weight(dw, &bias, x, y, window, 1, true), Error);
  }
  Tensor small = rig_.empty({1, 4, 5, 6}, type_);
  EXPECT_THROW(ops_->conv2d_forward(small, x, w, nullptr, window, 1, Fused::None), Error);
  Tensor pooled = rig_.empty({1, 5, 5, 4}, type_);
  EXPECT_THROW(ops_->pool2d_backward(pooled, x, nullptr, window, Pool::Max), Error);
  EXPECT_THROW(ops_->pool2d_forward(y, nullptr, x, window, Pool::Average), Error);
  Tensor mean = rig_.empty({1, 5}, type_);
  EXPECT_THROW(ops_->global_average_forward(mean, x), Error);
}

TEST(WindowOutput, CountsWindowsAndRefusesMisfits) {
  const Shape images{8, 32, 30, 3};
  EXPECT_EQ(window_output(images, {3, 3, 1, 1, 1, 1, 1, 1}, 64), (Shape{8, 32, 30, 64}));
  EXPECT_EQ(window_output(images, {3, 3, 2, 2, 0, 1, 0, 1}, 64), (Shape{8, 16, 15, 64}));
  EXPECT_EQ(window_output(images, {1, 7, 1, 2, 0, 0, 3, 3}, 5), (Shape{8, 32, 15, 5}));
  EXPECT_EQ(window_output(images, {32, 30, 1, 1, 0, 0, 0, 0}, 5), (Shape{8, 1, 1, 5}));
  auto refused = [&](const Window& window, const Shape& shape, const std::string& word) {
    try {
      (void)window_output(shape, window, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Input);
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused({33, 1, 1, 1, 0, 0, 0, 0}, images, "height"));
  EXPECT_TRUE(refused({1, 31, 1, 1, 0, 0, 0, 0}, images, "width"));
  EXPECT_TRUE(refused({3, 3, 0, 1, 0, 0, 0, 0}, images, "stride"));
  EXPECT_TRUE(refused({0, 3, 1, 1, 0, 0, 0, 0}, images, "kernel"));
  EXPECT_TRUE(refused({3, 3, 1, 1, -1, 0, 0, 0}, images, "padding"));
  EXPECT_TRUE(refused({3, 3, 1, 1, 3, 0, 0, 0}, images, "padding"));
  EXPECT_TRUE(refused({3, 3, 1, 1, 1, 1, 1, 1}, Shape{8, 32, 30}, "images"));
}

}  // namespace
}  // namespace penstock
