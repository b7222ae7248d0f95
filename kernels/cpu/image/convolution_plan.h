// kernels/cpu/image/convolution_plan.h -- ConvolutionPlan: a convolution as oneDNN is told of it.
// Pure: a plan depends on the shapes and types of tensors alone.
#pragma once

#include <cstdint>

#include "kernels/ops/dense.h"
#include "kernels/ops/image.h"

namespace penstock {

// y[n, out_h, out_w, out] = f(x[n, h, w, in] * w[out, in / groups, kernel_h, kernel_w] + bias),
// all dense. x and y are of `type`, the weight's value, its gradient and the bias fp32.
struct ConvolutionPlan {
  int64_t n = 0, h = 0, w = 0, in = 0;
  int64_t out_h = 0, out_w = 0, out = 0;
  int64_t groups = 1;
  Window window;
  DType type = DType::F32;
  bool bias = false;
  Fused fused = Fused::None;
  bool operator==(const ConvolutionPlan&) const = default;
};

// What reads a filter, or writes its gradient.
enum class FilterUse : uint8_t { Forward, InputGradient, WeightGradient };

// Returns the plan of a convolution of images like x to images like y, without a bias and a fused
// function. Gradients can be passed in place of x or of y. Checks nothing.
[[nodiscard]] inline ConvolutionPlan convolution_plan(const Tensor& x, const Tensor& y,
                                                      const Window& window, int groups) {
  return {.n = x.dim(0),
          .h = x.dim(1),
          .w = x.dim(2),
          .in = x.shape().back(),
          .out_h = y.dim(1),
          .out_w = y.dim(2),
          .out = y.shape().back(),
          .groups = groups,
          .window = window,
          .type = x.dtype()};
}

}  // namespace penstock
