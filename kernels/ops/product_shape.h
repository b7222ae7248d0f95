// kernels/ops/product_shape.h -- what matrix products, convolutions and pooling of every device
// require of the shapes and dtypes of their tensors, and the sizes that follow. Each function
// throws Error(Internal), which names the op, where the tensors do not fit together.
#pragma once

#include "kernels/ops/image.h"

namespace penstock {

// Returns the number of rows of x [rows, in] and y [rows, out], the input and the output of a
// linear layer or the gradients of these; leading axes count as rows. w is the weight [out, in] or
// its gradient.
[[nodiscard]] int64_t linear_rows(const char* op, const Tensor& x, const Tensor& y,
                                  const Tensor& w);

// The sizes of DenseOps::matmul(): c is [batch, m, n], and k is the axis that is summed over.
struct MatmulSizes {
  int64_t batch, m, n, k;
};
[[nodiscard]] MatmulSizes matmul_sizes(const Tensor& c, const Tensor& a, const Tensor& b,
                                       bool transpose_a, bool transpose_b);

// Check the tensors of a call of ImageOps (kernels/ops/image.h), or their gradients, and return
// nothing. `chosen` may be null.
void check_convolution(const Tensor& x, const Tensor& y, const Tensor& w, const Window& window,
                       int groups);
void check_pooling(const Tensor& x, const Tensor& y, const Tensor* chosen, const Window& window);
void check_global_average(const Tensor& x, const Tensor& y);
void check_upsampling(const Tensor& x, const Tensor& y, const Enlarging& enlarging);

}  // namespace penstock
