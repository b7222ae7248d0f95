// kernels/cuda/no_cudnn_attention.cpp -- stands for cuDNN's fused attention in a build without the
// headers of nvidia-cudnn-frontend.
#include "kernels/cuda/cudnn_attention.h"

namespace penstock {

std::unique_ptr<CudnnAttention> cudnn_attention(CudaContext& /*context*/) {
  return nullptr;
}

}  // namespace penstock
