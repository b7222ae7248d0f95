// kernels/cuda/families/softmax.h -- softmax over the last axis and its gradient on a GPU, for
// AttentionOps. The tensors of a call have one shape and are all fp32 or all bf16 (other types
// throw Error(Internal)); the caller has checked that they are alike.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// The forward overwrites y = softmax(x); y may be x. The backward overwrites dx = y (g - the row's
// sum of g y), where g is the gradient of y; dx may be g or y.
void softmax_forward(CudaContext& context, Tensor& y, const Tensor& x);
void softmax_backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor& y);

}  // namespace penstock
