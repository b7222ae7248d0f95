// kernels/cuda/image/filter_layout.h -- filters between the layout users see, fp32 [out, in /
// groups, kh, kw], and the one that channels-last convolutions read, [out, kh, kw, in / groups] in
// the type of the images.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// `packed` has the elements of `filter`; fp32 or bf16.
void pack_filter(CudaContext& context, const Tensor& packed, const Tensor& filter);
// gradient += packed, each in its own layout.
void add_packed_filter(CudaContext& context, const Tensor& gradient, const Tensor& packed);

}  // namespace penstock
