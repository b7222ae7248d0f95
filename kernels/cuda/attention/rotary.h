// kernels/cuda/attention/rotary.h -- AttentionOps::rotary() on a GPU: turns heads by the angles of
// their positions. x and y are [b, t, heads * d], fp32 or bf16; `table`, fp32 [places, d], has the
// cosines and sines of each place; `places`, I32 [b, t], says where each position is (null:
// position i is at place i); `pairs` says which elements are turned together; `back` turns the
// other way. kernels/ops/attention.h gives the formula. `sizes` is what rotary_sizes() returned for
// these tensors, which checks them. y is overwritten and may be x.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/ops/attention_shape.h"

namespace penstock {

void rotary(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& table,
            const Tensor* places, const RotarySizes& sizes, RotaryPairs pairs, bool back);

}  // namespace penstock
