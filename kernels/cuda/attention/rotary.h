// kernels/cuda/attention/rotary.h -- AttentionOps::rotary() on a GPU: heads turned by their
// positions. Shapes as in AttentionOps::rotary(); the caller has checked them (rotary_sizes()). y
// is overwritten.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/ops/attention_shape.h"

namespace penstock {

void rotary(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& table,
            const Tensor* places, const RotarySizes& sizes, bool back);

}  // namespace penstock
