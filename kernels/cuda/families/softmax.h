// kernels/cuda/families/softmax.h -- softmax over the last axis and its gradient on a GPU; the
// attention family calls them. The caller checks shapes.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// y = softmax(x), and dx from the gradient g of y; y and dx are overwritten.
void softmax_forward(CudaContext& context, Tensor& y, const Tensor& x);
void softmax_backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor& y);

}  // namespace penstock
