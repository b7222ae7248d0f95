// Convolutions on a GPU beside the CPU's. Pooling has a test of its own.
#include "tests/gpu/compare.h"

namespace penstock {
namespace {

struct ConvolutionCase {
  const char* name;
  Shape x;
  int64_t out;
  Window window;
  int groups = 1;
};

const std::vector<ConvolutionCase> kConvolutions = {
    {"one by one", {2, 5, 5, 16}, 24, {}},
    {"three by three",
     {2, 8, 7, 16},
     8,
     {.kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1}},
    {"a stem",
     {1, 17, 15, 3},
     10,
     {.kernel_h = 7,
      .kernel_w = 7,
      .stride_h = 2,
      .stride_w = 2,
      .pad_top = 3,
      .pad_bottom = 3,
      .pad_left = 3,
      .pad_right = 3}},
    {"one by seven", {1, 4, 9, 6}, 5, {.kernel_w = 7, .pad_left = 3, .pad_right = 3}},
    {"groups", {2, 6, 6, 12}, 18, {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2}, 3},
    {"depthwise",
     {1, 7, 5, 8},
     8,
     {.kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1},
     8},
    {"depthwise, more channels than a warp has lanes",
     {2, 9, 13, 40},
     40,
     {.kernel_h = 5,
      .kernel_w = 5,
      .stride_h = 2,
      .stride_w = 2,
      .pad_top = 2,
      .pad_bottom = 2,
      .pad_left = 2,
      .pad_right = 2},
     40},
    {"depthwise, four channels a thread and more than a block has",
     {2, 9, 7, 140},
     140,
     {.kernel_h = 3,
      .kernel_w = 5,
      .stride_h = 2,
      .stride_w = 1,
      .pad_top = 1,
      .pad_bottom = 1,
      .pad_left = 2,
      .pad_right = 2},
     140},
    {"depthwise, with padding on two sides only",
     {3, 11, 9, 33},
     33,
     {.kernel_h = 3, .kernel_w = 3, .pad_bottom = 2, .pad_right = 2},
     33},
    {"depthwise, two outputs a channel, a window wider than a piece",
     {1, 6, 20, 5},
     10,
     {.kernel_h = 2, .kernel_w = 11, .pad_left = 5, .pad_right = 5},
     5},
    {"padding on two sides only",
     {2, 6, 5, 4},
     7,
     {.kernel_h = 3, .kernel_w = 2, .stride_h = 2, .pad_bottom = 1, .pad_left = 1}},
    {"grouped, with padding on two sides only",
     {1, 5, 5, 4},
     6,
     {.kernel_h = 2, .kernel_w = 3, .pad_top = 1, .pad_right = 2},
     2},
    {"one by one, with a stride", {2, 5, 7, 16}, 24, {.stride_h = 2, .stride_w = 2}},
};

class GpuConvolution : public GpuFloatTest {
 protected:
  DType type_ = GetParam();

  Shape output(const ConvolutionCase& c) { return window_output(c.x, c.window, c.out); }
  Shape filter(const ConvolutionCase& c) {
    return {c.out, c.x[3] / c.groups, c.window.kernel_h, c.window.kernel_w};
  }
  // A filter that bf16 can hold where images are bf16.
  Twin filter_values(const ConvolutionCase& c, uint64_t seed) {
    return from_values(values_of(cpu(), random(filter(c), type_, seed).cpu), filter(c), DType::F32);
  }
};
PENSTOCK_FLOAT_TYPES(GpuConvolution);

TEST_P(GpuConvolution, Forward) {
  for (const ConvolutionCase& c : kConvolutions) {
    const Twin x = random(c.x, type_, 1);
    const Twin w = filter_values(c, 2);
    const Twin bias = random({c.out}, DType::F32, 3);
    Weight gpu_weight(w.gpu);
    Weight cpu_weight(w.cpu);
    for (const Fused f : {Fused::None, Fused::Relu, Fused::Tanh}) {
      for (const bool with_bias : {false, true}) {
        Twin y = poisoned(output(c), type_);
        gpu().image().conv2d_forward(y.gpu, x.gpu, gpu_weight, with_bias ? &bias.gpu : nullptr,
                                     c.window, c.groups, f);
        cpu().image().conv2d_forward(y.cpu, x.cpu, cpu_weight, with_bias ? &bias.cpu : nullptr,
                                     c.window, c.groups, f);
        expect_close(y, std::string("y of ") + c.name);
      }
    }
  }
}

TEST_P(GpuConvolution, BackwardInput) {
  for (const ConvolutionCase& c : kConvolutions) {
    const Twin g = random(output(c), type_, 1);
    const Twin w = filter_values(c, 2);
    Weight gpu_weight(w.gpu);
    Weight cpu_weight(w.cpu);
    Twin dx = poisoned(c.x, type_);
    gpu().image().conv2d_backward_input(dx.gpu, g.gpu, gpu_weight, c.window, c.groups);
    cpu().image().conv2d_backward_input(dx.cpu, g.cpu, cpu_weight, c.window, c.groups);
    expect_close(dx, std::string("dx of ") + c.name);
  }
}

TEST_P(GpuConvolution, BackwardWeightAddsOrOverwrites) {
  for (const ConvolutionCase& c : kConvolutions) {
    const Twin x = random(c.x, type_, 1);
    const Twin g = random(output(c), type_, 2);
    for (const bool adds : {true, false}) {
      Twin dw = adds ? random(filter(c), DType::F32, 3) : poisoned(filter(c), DType::F32);
      Twin dbias = random({c.out}, DType::F32, 4);
      gpu().image().conv2d_backward_weight(dw.gpu, &dbias.gpu, x.gpu, g.gpu, c.window, c.groups,
                                           adds);
      cpu().image().conv2d_backward_weight(dw.cpu, &dbias.cpu, x.cpu, g.cpu, c.window, c.groups,
                                           adds);
      // cuDNN's gradient of a filter passes through the type of the images.
      expect_close(dw, tolerance_of(type_), std::string("dw of ") + c.name);
      expect_close(dbias, std::string("dbias of ") + c.name);
    }
  }
}

TEST_P(GpuConvolution, FormsFollowTheirWeight) {
  const ConvolutionCase& c = kConvolutions[1];
  const Twin x = random(c.x, type_, 1);
  const Twin w = filter_values(c, 2);
  const Twin other = filter_values(c, 3);
  Weight gpu_weight(w.gpu);
  Twin y = poisoned(output(c), type_);
  gpu().image().conv2d_forward(y.gpu, x.gpu, gpu_weight, nullptr, c.window, c.groups, Fused::None);
  Tensor value = gpu_weight.value();
  gpu().pointwise().copy(value, other.gpu);
  gpu_weight.changed();
  gpu().image().conv2d_forward(y.gpu, x.gpu, gpu_weight, nullptr, c.window, c.groups, Fused::None);
  Weight changed(other.cpu);
  cpu().image().conv2d_forward(y.cpu, x.cpu, changed, nullptr, c.window, c.groups, Fused::None);
  expect_close(y, "y after an update");
}

TEST_P(GpuConvolution, PlansAreMadeOncePerShapeAndRepeatThemselves) {
  for (const ConvolutionCase& c : kConvolutions) {
    const Twin x = random(c.x, type_, 1);
    const Twin g = random(output(c), type_, 2);
    const Twin w = filter_values(c, 3);
    Weight weight(w.gpu);
    const auto run = [&] {
      Twin y = poisoned(output(c), type_);
      Twin dx = poisoned(c.x, type_);
      Twin dw = random(filter(c), DType::F32, 4);
      gpu().image().conv2d_forward(y.gpu, x.gpu, weight, nullptr, c.window, c.groups, Fused::None);
      gpu().image().conv2d_backward_input(dx.gpu, g.gpu, weight, c.window, c.groups);
      gpu().image().conv2d_backward_weight(dw.gpu, nullptr, x.gpu, g.gpu, c.window, c.groups, true);
      return std::vector<Tensor>{y.gpu, dx.gpu, dw.gpu};
    };
    run();
    const int64_t made = gpu().counts().primitives_created;
    expect_repeatable(run, c.name);
    EXPECT_EQ(gpu().counts().primitives_created, made) << c.name;
  }
}

}  // namespace
}  // namespace penstock
