// kernels/cuda/unfinished.cpp -- families that are not written yet.
#include "kernels/cuda/families.h"
#include "kernels/error.h"

namespace penstock {

std::unique_ptr<LayoutOps> cuda_layout_ops(CudaContext&) {
  fail_internal("no CUDA layout ops yet");
}
std::unique_ptr<TokenOps> cuda_token_ops(CudaContext&) {
  fail_internal("no CUDA token ops yet");
}
std::unique_ptr<UpdateOps> cuda_update_ops(CudaContext&) {
  fail_internal("no CUDA update ops yet");
}

}  // namespace penstock
