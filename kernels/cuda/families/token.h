// kernels/cuda/families/token.h -- the ops of TokenOps on a GPU, each in a file of its own:
// shapes, and what is overwritten or added to, are those of kernels/ops/token.h. The caller has
// checked the shapes.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

void embedding_forward(CudaContext& context, Tensor& y, const Tensor& ids, const Tensor& table);
void embedding_backward(CudaContext& context, Tensor& dtable, const Tensor& ids, const Tensor& g);

void packed_places(CudaContext& context, Tensor& places, const Tensor& starts);

void cross_entropy_forward(CudaContext& context, Tensor& result, Tensor& logsumexp,
                           const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options);
void cross_entropy_backward(CudaContext& context, Tensor& dlogits, const Tensor& logits,
                            const Tensor& labels, const Tensor& logsumexp, float scale,
                            const CrossEntropyOptions& options);

}  // namespace penstock
