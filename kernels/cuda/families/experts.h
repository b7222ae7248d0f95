// kernels/cuda/families/experts.h -- the ops of ExpertOps on a GPU. Each function computes the op
// of its name, with the arguments, types and shapes that kernels/ops/experts.h describes. The
// caller has checked the shapes.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/ops/expert_sizes.h"

namespace penstock {

void route(CudaContext& context, const Routing& routing, Tensor& weights, const Tensor& logits,
           const Tensor& correction, const Router& router, const RoutingSizes& sizes);
void route_backward(CudaContext& context, Tensor& dlogits, const Tensor& dweights,
                    const Tensor& weights, const Tensor& logits, const Routing& routing,
                    const Router& router, const RoutingSizes& sizes);

void count_slots(CudaContext& context, Tensor& counts, const Tensor& offsets);
void balance(CudaContext& context, Tensor& correction, const Tensor& counts, float rate);

void gather_slots(CudaContext& context, Tensor& y, const Tensor& x, const Routing& routing,
                  const RoutingSizes& sizes);
// to[r] = the sum over the slots of row r of their rows of `from`, times their weights (null: 1).
void add_slots(CudaContext& context, Tensor& to, const Tensor& from, const Tensor* weights,
               const Routing& routing, const RoutingSizes& sizes);
void combine_backward(CudaContext& context, Tensor& dx, Tensor& dweights, const Tensor& g,
                      const Tensor& x, const Tensor& weights, const Routing& routing,
                      const RoutingSizes& sizes);
void gate_rows(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& gate);
void gate_rows_backward(CudaContext& context, Tensor& dx, Tensor& dgate, const Tensor& g,
                        const Tensor& x, const Tensor& gate);

void add_expert_bias(CudaContext& context, Tensor& y, const Tensor& bias, const Tensor& offsets);
void expert_bias_backward(CudaContext& context, Tensor& dbias, const Tensor& g,
                          const Tensor& offsets);

void grouped_forward(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& w,
                     const Tensor& offsets, const GroupedSizes& sizes);
void grouped_backward_input(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor& w,
                            const Tensor& offsets, const GroupedSizes& sizes);
void grouped_backward_weight(CudaContext& context, Tensor& dw, const Tensor& x, const Tensor& g,
                             const Tensor& offsets, bool accumulate, const GroupedSizes& sizes);

}  // namespace penstock
