// kernels/cuda/attention/rotary.h -- AttentionOps::rotary() on a GPU: turns heads by the angles of
// their positions. Arguments are those of AttentionOps::rotary() (kernels/ops/attention.h); `sizes`
// is what rotary_sizes() returned for them, which checks them. y is overwritten and may be x.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/ops/attention_shape.h"

namespace penstock {

void rotary(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& table,
            const Tensor* places, const RotarySizes& sizes, bool back);

}  // namespace penstock
