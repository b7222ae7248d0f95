// kernels/cuda/families/activation.h -- the activations of the pointwise family, in a file of their
// own. Shapes are the caller's to check.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

void activation_forward(CudaContext& context, Tensor& y, const Tensor& x, Activation f);
void activation_backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor& x,
                         Activation f);

void gated_forward(CudaContext& context, Tensor& y, const Tensor& gate, const Tensor& x,
                   Activation f);
void gated_backward(CudaContext& context, Tensor& dgate, Tensor& dx, const Tensor& g,
                    const Tensor& gate, const Tensor& x, Activation f);

}  // namespace penstock
