// kernels/cuda/unfinished.cpp -- families that are not written yet.
#include "kernels/cuda/families.h"
#include "kernels/error.h"

namespace penstock {

std::unique_ptr<DenseOps> cuda_dense_ops(CudaContext&) {
  fail_internal("no CUDA dense ops yet");
}
std::unique_ptr<ImageOps> cuda_image_ops(CudaContext&) {
  fail_internal("no CUDA image ops yet");
}
std::unique_ptr<AttentionOps> cuda_attention_ops(CudaContext&) {
  fail_internal("no CUDA attention ops yet");
}
std::unique_ptr<UpdateOps> cuda_update_ops(CudaContext&) {
  fail_internal("no CUDA update ops yet");
}

}  // namespace penstock
