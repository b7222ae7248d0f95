// kernels/cuda/dense/bias_function.h -- y = f(y + bias) in place, after a product or a convolution
// whose library did not compute it in the same pass.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// y [.., c] is fp32 or bf16; bias[c], fp32, may be null. Nothing happens without bias and f.
void apply_bias_function(CudaContext& context, Tensor& y, const Tensor* bias, Fused f);

}  // namespace penstock
