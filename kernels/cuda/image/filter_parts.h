// kernels/cuda/image/filter_parts.h -- adds up the gradient of a filter from its sums over parts of
// the images.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// gradient [out, in / groups, kh, kw] = (accumulate ? gradient : 0) + the sum over the parts of
// partial [parts, in / groups, kh, kw, out], fp32, in an order that depends on `parts` alone.
void add_filter_parts(CudaContext& context, const Tensor& gradient, const Tensor& partial,
                      bool accumulate);

}  // namespace penstock
