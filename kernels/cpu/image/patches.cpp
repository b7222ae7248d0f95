#include "kernels/cpu/image/patches.h"

#include <algorithm>
#include <functional>

#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/transposed.h"
#include "kernels/cpu/onednn/onednn.h"

namespace penstock {
namespace {

// Calls f(pixel of the image or -1, tap) for each tap of the window at position (oy, ox).
template <class F>
void for_taps(const Shape& image, const Window& window, int64_t oy, int64_t ox, const F& f) {
  int64_t tap = 0;
  for (int64_t ky = 0; ky < window.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < window.kernel_w; ++kx, ++tap) {
      const int64_t y = oy * window.stride_h - window.pad_top + ky;
      const int64_t x = ox * window.stride_w - window.pad_left + kx;
      const bool inside = y >= 0 && y < image[1] && x >= 0 && x < image[2];
      f(inside ? y * image[2] + x : -1, tap);
    }
  }
}

// Returns the patches of x, with zeros where they lie on the padding. y has the shape of the
// result.
Tensor patches_of(const CpuContext& context, const PatchProducts& products, const Tensor& x,
                  const Tensor& y, const Window& window) {
  Tensor patches = scratch(context, products.positions * products.numbers, DType::F32);
  const int64_t in = x.shape().back();
  const int64_t taps = int64_t{window.kernel_h} * window.kernel_w;
  for_rows(context, products.positions, products.numbers, [&](int64_t row) {
    const int64_t n = row / (y.dim(1) * y.dim(2));
    const float* image = x.data<float>() + n * x.dim(1) * x.dim(2) * in;
    float* patch = patches.data<float>() + row * products.numbers;
    for_taps(x.shape(), window, row / y.dim(2) % y.dim(1), row % y.dim(2),
             [&](int64_t pixel, int64_t tap) {
               const float* from = image + pixel * in;
               for (int64_t c = 0; c < in; ++c) patch[c * taps + tap] = pixel < 0 ? 0.0F : from[c];
             });
  });
  return patches;
}

// Overwrites dx with the sums of what the patches have for each of its pixels, added up in
// ascending order of positions. g has the shape of the result.
void sum_patches(const CpuContext& context, const PatchProducts& products, const Tensor& dx,
                 const Tensor& patches, const Tensor& g, const Window& window) {
  const int64_t in = dx.shape().back();
  const int64_t taps = int64_t{window.kernel_h} * window.kernel_w;
  const int64_t pixels = dx.dim(1) * dx.dim(2);
  const int64_t positions = g.dim(1) * g.dim(2);
  for_rows(context, dx.dim(0), positions * products.numbers, [&](int64_t n) {
    float* image = dx.data<float>() + n * pixels * in;
    std::fill_n(image, pixels * in, 0.0F);
    for (int64_t at = 0; at < positions; ++at) {
      const float* patch = patches.data<float>() + (n * positions + at) * products.numbers;
      for_taps(dx.shape(), window, at / g.dim(2), at % g.dim(2), [&](int64_t pixel, int64_t tap) {
        if (pixel < 0) return;
        float* to = image + pixel * in;
        for (int64_t c = 0; c < in; ++c) to[c] += patch[c * taps + tap];
      });
    }
  });
}

}  // namespace

MatmulPlan PatchProducts::forward() const {
  return {.m = out,
          .n = positions,
          .k = numbers,
          .a = {0, numbers, 1},
          .b = {0, 1, numbers},
          .c = {0, positions, 1}};
}

MatmulPlan PatchProducts::input_gradient() const {
  return {.m = positions,
          .n = numbers,
          .k = out,
          .a = {0, out, 1},
          .b = {0, numbers, 1},
          .c = {0, numbers, 1}};
}

MatmulPlan PatchProducts::weight_gradient(bool accumulate) const {
  return {.m = out,
          .n = numbers,
          .k = positions,
          .a = {0, positions, 1},
          .b = {0, numbers, 1},
          .c = {0, numbers, 1},
          .accumulate = accumulate};
}

std::optional<PatchProducts> patch_products(const Tensor& y, const Shape& filter, int groups) {
  // Products are as fast as oneDNN's convolutions on a Zen 3 up to four times as many positions as
  // outputs. With this limit all patches take half the memory of the filter at most.
  constexpr int64_t kOutputsOfAPosition = 2;
  const int64_t positions = y.shape().rows();
  const bool few = kOutputsOfAPosition * positions <= filter[0];
  if (groups > 1 || !few || y.dtype() != DType::F32) return std::nullopt;
  return PatchProducts{positions, filter[1] * filter[2] * filter[3], filter[0]};
}

void forward_by_patches(CpuContext& context, const PatchProducts& products, const Tensor& y,
                        const Tensor& x, const Tensor& w, const Tensor* bias, const Window& window,
                        Fused f) {
  const Tensor patches = patches_of(context, products, x, y, window);
  const Tensor result = scratch(context, y.elements(), DType::F32);  // y^T
  context.dnn.matmul(products.forward(), result.raw(), w.raw(), patches.raw());
  auto* to = y.data<float>();
  // One thread transposes y and g, which are small beside a filter.
  transpose(to, products.out, result.data<float>(), products.positions, products.out,
            products.positions);
  for (int64_t row = 0; bias != nullptr && row < products.positions; ++row) {
    float* line = to + row * products.out;
    map_row(line, line, bias->data<float>(), products.out, std::plus<float>());
  }
  if (f == Fused::None) return;
  const Activation after = f == Fused::Relu ? Activation::Relu : Activation::Tanh;
  context.dnn.activation_forward(to, to, y.elements(), DType::F32, after);
}

void backward_input_by_patches(CpuContext& context, const PatchProducts& products, const Tensor& dx,
                               const Tensor& g, const Tensor& w, const Window& window) {
  const Tensor patches = scratch(context, products.positions * products.numbers, DType::F32);
  context.dnn.matmul(products.input_gradient(), patches.raw(), g.raw(), w.raw());
  sum_patches(context, products, dx, patches, g, window);
}

void backward_weight_by_patches(CpuContext& context, const PatchProducts& products,
                                const Tensor& dw, const Tensor& x, const Tensor& g,
                                const Window& window, bool accumulate) {
  const Tensor patches = patches_of(context, products, x, g, window);
  const Tensor gradient = scratch(context, g.elements(), DType::F32);  // g^T
  transpose(gradient.data<float>(), products.positions, g.data<float>(), products.out,
            products.positions, products.out);
  context.dnn.matmul(products.weight_gradient(accumulate), dw.raw(), gradient.raw(), patches.raw());
}

}  // namespace penstock
