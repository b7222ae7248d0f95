// kernels/cuda/image/pool.h -- pooling in our own kernels, as ImageOps describes it: the image
// family calls these. One thread owns an output element, so that no sum depends on the order of
// threads. Shapes and types are the caller's to check.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

void pool_forward(CudaContext& context, Tensor& y, Tensor* chosen, const Tensor& x,
                  const Window& window, Pool kind);
void pool_backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor* chosen,
                   const Window& window, Pool kind);
void global_average_forward(CudaContext& context, Tensor& y, const Tensor& x);
void global_average_backward(CudaContext& context, Tensor& dx, const Tensor& g);

}  // namespace penstock
