// kernels/ops/product_shape.h -- what matrix products, convolutions and pooling of every device
// require of their tensors, and the sizes that follow. Each function throws Error(Internal) that
// names the op where the tensors do not fit together.
#pragma once

#include "kernels/ops/image.h"

namespace penstock {

// The rows of input x and output y of a linear layer (or of their gradients); w, its weight or the
// gradient of that, is [out, in].
[[nodiscard]] int64_t linear_rows(const char* op, const Tensor& x, const Tensor& y,
                                  const Tensor& w);

// The sizes of DenseOps::matmul(): c is [batch, m, n], and k is the axis that is summed over.
struct MatmulSizes {
  int64_t batch, m, n, k;
};
[[nodiscard]] MatmulSizes matmul_sizes(const Tensor& c, const Tensor& a, const Tensor& b,
                                       bool transpose_a, bool transpose_b);

// The tensors are those of ImageOps, or their gradients; `chosen` may be null.
void check_convolution(const Tensor& x, const Tensor& y, const Tensor& w, const Window& window,
                       int groups);
void check_pooling(const Tensor& x, const Tensor& y, const Tensor* chosen, const Window& window);
void check_global_average(const Tensor& x, const Tensor& y);

}  // namespace penstock
