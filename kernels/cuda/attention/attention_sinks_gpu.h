// kernels/cuda/attention/attention_sinks_gpu.h -- attention sinks on a GPU
// (kernels/ops/attention.h). The caller has checked the tensors.
#pragma once

#include "kernels/cuda/families.h"
#include "kernels/ops/attention_sinks.h"

namespace penstock {

void add_sinks(CudaContext& context, Tensor& out, Tensor& logsumexp, const Tensor& sinks,
               const SinkSizes& sizes);
void sinks_backward(CudaContext& context, Tensor& dsinks, const Tensor& g, const Tensor& out,
                    const Tensor& logsumexp, const Tensor& sinks, const SinkSizes& sizes);

}  // namespace penstock
