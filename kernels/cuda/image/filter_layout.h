// kernels/cuda/image/filter_layout.h -- conversions of filters between the layout users see, fp32
// [out, in / groups, kh, kw], and the layouts that convolutions read. The first two functions
// return a converted copy of the weight's value; the weight keeps it (Weight::packing()), and it is
// made anew only after the weight has changed.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// Returns the copy [out, kh, kw, in / groups] in `type`, fp32 or bf16, which channels-last
// convolutions read. For a window of one pixel it is the matrix [out, in / groups], and in fp32 the
// value itself.
[[nodiscard]] Tensor packed_filter(CudaContext& context, Weight& w, DType type);
// Returns the copy [in / groups, kh, kw, out] in fp32, in which neighbouring outputs lie side by
// side.
[[nodiscard]] Tensor turned_filter(CudaContext& context, Weight& w);
// gradient = (accumulate ? gradient : 0) + packed, from [out, kh, kw, in / groups] to [out, in /
// groups, kh, kw].
void unpack_filter_gradient(CudaContext& context, const Tensor& gradient, const Tensor& packed,
                            bool accumulate);

}  // namespace penstock
