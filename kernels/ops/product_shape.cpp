#include "kernels/ops/product_shape.h"

#include <initializer_list>

#include "kernels/joined.h"

namespace penstock {
namespace {

[[noreturn]] void misfit(const std::string& op, std::initializer_list<const Tensor*> tensors) {
  const auto text_of = [](const Tensor* t) {
    return t->shape().text() + " " + name_of(t->dtype());
  };
  fail_internal(op + ": " + joined(tensors, ", ", text_of) + " do not fit together");
}

}  // namespace

int64_t linear_rows(const char* op, const Tensor& x, const Tensor& y, const Tensor& w) {
  const bool fits = w.shape().rank() == 2 && (w.dtype() == DType::F32 || w.dtype() == x.dtype()) &&
                    x.dtype() == y.dtype() && x.shape().back() == w.dim(1) &&
                    y.shape().back() == w.dim(0) && x.shape().rows() == y.shape().rows();
  if (!fits) misfit(op, {&x, &w, &y});
  return x.shape().rows();
}

MatmulSizes matmul_sizes(const Tensor& c, const Tensor& a, const Tensor& b, bool transpose_a,
                         bool transpose_b) {
  if (a.shape().rank() != 3 || b.shape().rank() != 3 || c.shape().rank() != 3) {
    misfit("matmul", {&a, &b, &c});
  }
  const int64_t batch = c.dim(0);
  const int64_t m = c.dim(1);
  const int64_t n = c.dim(2);
  const int64_t k = transpose_a ? a.dim(1) : a.dim(2);
  const bool fits = a.shape() == (transpose_a ? Shape{batch, k, m} : Shape{batch, m, k}) &&
                    b.shape() == (transpose_b ? Shape{batch, n, k} : Shape{batch, k, n}) &&
                    a.dtype() == c.dtype() && b.dtype() == c.dtype();
  if (!fits) misfit("matmul", {&a, &b, &c});
  return {batch, m, n, k};
}

void check_convolution(const Tensor& x, const Tensor& y, const Tensor& w, const Window& window,
                       int groups) {
  const int64_t in = x.shape().back();
  const int64_t out = y.shape().back();
  const bool fits = groups > 0 && in % groups == 0 && out % groups == 0 && x.dtype() == y.dtype() &&
                    w.dtype() == DType::F32 &&
                    w.shape() == Shape{out, in / groups, window.kernel_h, window.kernel_w} &&
                    y.shape() == window_output(x.shape(), window, out);
  if (!fits) misfit("convolution with weight " + w.shape().text(), {&x, &y});
}

void check_pooling(const Tensor& x, const Tensor& y, const Tensor* chosen, const Window& window) {
  const bool fits = x.dtype() == y.dtype() &&
                    y.shape() == window_output(x.shape(), window, x.shape().back()) &&
                    (chosen == nullptr || chosen->shape() == y.shape());
  if (!fits) misfit("pooling", {&x, &y});
}

void check_global_average(const Tensor& x, const Tensor& y) {
  const bool fits = x.dtype() == y.dtype() && x.shape().rank() == 4 &&
                    y.shape() == Shape{x.dim(0), x.dim(3)} && x.dim(1) * x.dim(2) > 0;
  if (!fits) misfit("global average", {&x, &y});
}

void check_upsampling(const Tensor& x, const Tensor& y, const Enlarging& enlarging) {
  const bool fits = x.dtype() == y.dtype() && x.shape().rank() == 4 &&
                    y.shape() == enlarged_shape(x.shape(), enlarging);
  if (!fits) misfit("upsampling", {&x, &y});
}

}  // namespace penstock
