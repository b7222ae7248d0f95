// kernels/cuda/image/filter_layout.h -- conversions of filters between the layout users see, fp32
// [out, in / groups, kh, kw], and the layouts that convolutions read. Forms of a weight are made
// once after each update.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// [out, kh, kw, in / groups] in `type`, fp32 or bf16: what channels-last convolutions read; for a
// window of one pixel it is the matrix [out, in].
[[nodiscard]] Tensor packed_filter(CudaContext& context, Weight& w, DType type);
// [in / groups, kh, kw, out] in fp32: neighbouring outputs side by side.
[[nodiscard]] Tensor turned_filter(CudaContext& context, Weight& w);
// gradient = (accumulate ? gradient : 0) + packed, from [out, kh, kw, in / groups] to [out, in /
// groups, kh, kw].
void unpack_filter_gradient(CudaContext& context, const Tensor& gradient, const Tensor& packed,
                            bool accumulate);

}  // namespace penstock
