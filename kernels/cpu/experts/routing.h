// kernels/cpu/experts/routing.h -- the router of a mixture of experts on the CPU
// (kernels/ops/experts.h), in parallel over rows. Throws Error(Internal) where sizes do not fit.
#pragma once

#include "kernels/cpu/families.h"

namespace penstock {

// Whether the experts of a row are those of its largest logits. Else route() has scratch memory for
// what they are chosen by: a number, fp32, for each expert and each thread with rows.
[[nodiscard]] inline bool chosen_by_logits(const Tensor& correction, const Router& router) {
  return !correction && router.chosen_groups == router.groups;
}

void route(const CpuContext& context, const Routing& routing, Tensor& weights, const Tensor& logits,
           const Tensor& correction, const Router& router);
void route_backward(const CpuContext& context, Tensor& dlogits, const Tensor& dweights,
                    const Tensor& weights, const Tensor& logits, const Routing& routing,
                    const Router& router);

}  // namespace penstock
