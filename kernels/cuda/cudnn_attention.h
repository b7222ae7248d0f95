// kernels/cuda/cudnn_attention.h -- cuDNN's fused attention, for bf16 without dropout: the fastest
// there is, where the build found the headers of nvidia-cudnn-frontend (cudnn_attention.cpp, else
// no_cudnn_attention.cpp). Plans are made once per shape; the backward is the deterministic one.
#pragma once

#include "kernels/cuda/attention_call.h"

namespace penstock {

class CudnnAttention {
 public:
  virtual ~CudnnAttention() = default;
  // Whether cuDNN takes this shape, both ways: results of the one are made for the other.
  [[nodiscard]] virtual bool supports(const AttentionCall& call) = 0;
  // As the functions of attention_call.h; elements are bf16.
  virtual void forward(const AttentionCall& call, const AttentionInputs& in, void* out,
                       float* logsumexp) = 0;
  virtual void backward(const AttentionCall& call, const AttentionInputs& in,
                        const AttentionResults& results, const AttentionGradients& gradients) = 0;
};

// Null in a build without the headers.
[[nodiscard]] std::unique_ptr<CudnnAttention> cudnn_attention(CudaContext& context);

}  // namespace penstock
