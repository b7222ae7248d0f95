// kernels/cuda/attention/rotary.h -- AttentionOps::rotary() on a GPU: heads turned by their
// positions. The caller checks shapes (rotary_sizes()).
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/ops/attention_shape.h"

namespace penstock {

void rotary(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& table,
            const Tensor* places, const RotarySizes& sizes, bool back);

}  // namespace penstock
