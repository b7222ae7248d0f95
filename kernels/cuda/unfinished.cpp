// kernels/cuda/unfinished.cpp -- families that are not written yet.
#include "kernels/cuda/families.h"

namespace penstock {

std::unique_ptr<UpdateOps> cuda_update_ops(CudaContext&) {
  return nullptr;
}

}  // namespace penstock
