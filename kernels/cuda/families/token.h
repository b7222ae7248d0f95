// kernels/cuda/families/token.h -- the ops of TokenOps on a GPU. Each function computes the op of
// its name, with the arguments, types and shapes that kernels/ops/token.h describes; it says what
// is overwritten and what is added to. The caller has checked the shapes. Bad ids and labels go to
// context.trouble.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

void embedding_forward(CudaContext& context, Tensor& y, const Tensor& ids, const Tensor& table);
void embedding_backward(CudaContext& context, Tensor& dtable, const Tensor& ids, const Tensor& g);

void packed_places(CudaContext& context, Tensor& places, const Tensor& starts);

void cross_entropy_forward(CudaContext& context, Tensor& result, Tensor& logsumexp,
                           const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options, int64_t first_row);
void cross_entropy_backward(CudaContext& context, Tensor& dlogits, const Tensor& logits,
                            const Tensor& labels, const Tensor& logsumexp, float scale,
                            const CrossEntropyOptions& options, int64_t first_row);

}  // namespace penstock
