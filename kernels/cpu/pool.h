// kernels/cpu/pool.h -- maximum, average and global average pooling of channels-last images on the
// CPU: vectorised over the channels, in parallel over image rows. No two threads write one element
// and each sum has one order, so the results do not depend on the number of threads. The caller has
// checked the shapes, which are those of ImageOps (kernels/ops/image.h).
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

// y and dx are overwritten; g is the gradient of y. `chosen` (I32, shape of y): place of each
// maximum in its window; null for averages, or when no backward follows.
void pool_forward(int threads, const Tensor& y, const Tensor* chosen, const Tensor& x,
                  const Window& window, Pool kind);
void pool_backward(int threads, const Tensor& dx, const Tensor& g, const Tensor* chosen,
                   const Window& window, Pool kind);
void global_average_forward(int threads, const Tensor& y, const Tensor& x);
void global_average_backward(int threads, const Tensor& dx, const Tensor& g);

}  // namespace penstock
