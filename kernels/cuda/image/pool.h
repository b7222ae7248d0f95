// kernels/cuda/image/pool.h -- maximum, average and global average pooling of channels-last images
// on a GPU. One thread owns an output element, so that no sum depends on the order of threads. The
// caller has checked types and shapes, which are those of ImageOps (kernels/ops/image.h).
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// y and dx are overwritten; g is the gradient of y. `chosen` (I32, shape of y): place of each
// maximum in its window; null for averages, or when no backward follows.
void pool_forward(CudaContext& context, Tensor& y, Tensor* chosen, const Tensor& x,
                  const Window& window, Pool kind);
void pool_backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor* chosen,
                   const Window& window, Pool kind);
void global_average_forward(CudaContext& context, Tensor& y, const Tensor& x);
void global_average_backward(CudaContext& context, Tensor& dx, const Tensor& g);

}  // namespace penstock
