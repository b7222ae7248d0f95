// kernels/cpu/experts/routing.h -- the router of a mixture of experts on the CPU
// (kernels/ops/experts.h), in parallel over rows. The caller has checked the tensors.
#pragma once

#include "kernels/cpu/families.h"
#include "kernels/ops/expert_sizes.h"

namespace penstock {

void route(const CpuContext& context, const Routing& routing, Tensor& weights, const Tensor& logits,
           const Tensor& correction, const Router& router, const RoutingSizes& sizes);
void route_backward(const CpuContext& context, Tensor& dlogits, const Tensor& dweights,
                    const Tensor& weights, const Tensor& logits, const Routing& routing,
                    const Router& router, const RoutingSizes& sizes);

}  // namespace penstock
