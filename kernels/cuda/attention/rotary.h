// kernels/cuda/attention/rotary.h -- rotary positions. Shapes are the caller's to check.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/ops/attention_shape.h"

namespace penstock {

void rotary(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& table,
            const Tensor* places, const RotarySizes& sizes, bool back);

}  // namespace penstock
