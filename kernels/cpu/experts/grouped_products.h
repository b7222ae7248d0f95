// kernels/cpu/experts/grouped_products.h -- the products of each expert of a mixture with its own
// rows, as kernels/ops/experts.h describes them. Throw Error(Internal) where sizes do not fit.
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

void grouped_forward(CpuContext& context, Tensor& y, const Tensor& x, Weight& w,
                     const Tensor& offsets);
void grouped_backward_input(CpuContext& context, Tensor& dx, const Tensor& g, Weight& w,
                            const Tensor& offsets);
void grouped_backward_weight(CpuContext& context, Tensor& dw, const Tensor& x, const Tensor& g,
                             const Tensor& offsets, bool accumulate);

}  // namespace penstock
