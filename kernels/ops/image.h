// kernels/ops/image.h -- convolution, pooling and enlarging of channels-last images [n, height,
// width, channels]. The images of a call and their gradients share one dtype, fp32 or bf16; the
// gradients of weights and biases are fp32.
#pragma once

#include "kernels/ops/dense.h"
#include "kernels/ops/upsample.h"
#include "kernels/tensor.h"
#include "kernels/weight.h"

namespace penstock {

// A window that slides over an image. Output extent = (in + before + after - kernel) / stride + 1.
struct Window {
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool operator==(const Window&) const = default;
};

// [n, oh, ow, channels] for an input [n, h, w, .]; throws Error(Input) when the window does not
// fit.
[[nodiscard]] Shape window_output(const Shape& input, const Window& window, int64_t channels);

// Whether a convolution has a filter of one pixel, stride 1 and no groups: a linear layer over
// pixels.
[[nodiscard]] inline bool is_linear(const Window& window, int64_t groups) {
  return window == Window{} && groups == 1;
}

enum class Pool : uint8_t { Max, Average };  // the average leaves padding out of its count

class ImageOps {
 public:
  virtual ~ImageOps() = default;

  // y = f(x * w + bias), where * is the convolution of x [n, h, w, in] with the filter w [out, in /
  // groups, kernel_h, kernel_w]; groups == in is a depthwise one. bias (fp32 [out]) may be null. y
  // is overwritten.
  virtual void conv2d_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias,
                              const Window& window, int groups, Fused f) = 0;
  // Overwrites dx. g is the gradient of the argument of f (ActivationOps::fused_backward()), here
  // and in conv2d_backward_weight().
  virtual void conv2d_backward_input(Tensor& dx, const Tensor& g, Weight& w, const Window& window,
                                     int groups) = 0;
  // dw = (accumulate ? dw : 0) + the gradient of w; dbias[out] += the sums of g over n, h, w (null:
  // there is no bias). Both are fp32; dw has the shape of w.
  virtual void conv2d_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                                      const Window& window, int groups, bool accumulate) = 0;

  // `chosen` (I32, shape of y) receives for Pool::Max the position of the maximum inside its
  // window, row * kernel_w + column (first one wins); null when no backward will follow, and for
  // Pool::Average.
  virtual void pool2d_forward(Tensor& y, Tensor* chosen, const Tensor& x, const Window& window,
                              Pool kind) = 0;
  // Overwrites dx, given the gradient g of y and what the forward wrote to `chosen`.
  virtual void pool2d_backward(Tensor& dx, const Tensor& g, const Tensor* chosen,
                               const Window& window, Pool kind) = 0;
  // y[n, c] = mean over h and w of x[n, h, w, c]; and dx from the gradient g of y.
  virtual void global_average_forward(Tensor& y, const Tensor& x) = 0;
  virtual void global_average_backward(Tensor& dx, const Tensor& g) = 0;

  // y, of enlarged_shape(), from x; and dx, overwritten, from the gradient g of y.
  virtual void upsample2d_forward(Tensor& y, const Tensor& x, const Enlarging& enlarging) = 0;
  virtual void upsample2d_backward(Tensor& dx, const Tensor& g, const Enlarging& enlarging) = 0;
};

}  // namespace penstock
