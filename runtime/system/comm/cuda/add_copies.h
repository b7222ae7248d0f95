// runtime/system/comm/cuda/add_copies.h -- adds up the replicas' copies of some gradients on a GPU,
// in the order of runtime/system/comm/pairwise.h, as MpiReduceGroup does on the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace penstock {

// own[i] = (x0[i] + x1[i]) + (x2[i] + x3[i]) + ... for i < n, where x_rank is `own` itself and the
// others follow one another in `others`, each `n` elements, in rank order; all fp32, on the device.
void add_copies(float* own, const float* others, int64_t n, int rank, int ranks,
                cudaStream_t stream);

}  // namespace penstock
