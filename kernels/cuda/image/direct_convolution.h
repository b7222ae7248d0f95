// kernels/cuda/image/direct_convolution.h -- convolutions as their definition says, one element at
// a time: right for every window, group count and type. Depthwise ones are bound by memory, as they
// should be; those that mix many channels are slow. For what cuDNN does not take (a
// padding that differs between two sides; a combination that it has no deterministic algorithm
// for).
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// Shapes and meanings as in ImageOps, without bias; filters and their gradients are fp32, in the
// layout users see.
void direct_forward(CudaContext& context, const Tensor& y, const Tensor& x, const Tensor& filter,
                    const Window& window, int groups);
void direct_backward_input(CudaContext& context, const Tensor& dx, const Tensor& g,
                           const Tensor& filter, const Window& window, int groups);
// dw +=
void direct_backward_weight(CudaContext& context, const Tensor& dw, const Tensor& x,
                            const Tensor& g, const Window& window, int groups);

}  // namespace penstock
