// runtime/system/comm/cuda/add_copies.h -- adds up the replicas' copies of some gradients on a GPU,
// in the order of runtime/system/comm/pairwise.h, as MpiReduceGroup does on the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace penstock {

// Overwrites own[i], 0 <= i < n, with the sum of the copies x0 to x(ranks - 1) of all replicas, in
// pairs: ((x0[i] + x1[i]) + (x2[i] + x3[i])) + ... `rank` is the number of this replica: its copy
// is `own`. The copies of the other ranks - 1 replicas lie one after another in `others`, n
// elements each, in the order of their numbers. All are fp32 and on the device. Submits a kernel to
// `stream` and does not wait.
void add_copies(float* own, const float* others, int64_t n, int rank, int ranks,
                cudaStream_t stream);

}  // namespace penstock
