// tests/host_cuda/reduction.h -- what NCCL computes: sums and extremes over the members' copies.
#pragma once

#include <nccl.h>

#include <cstddef>

namespace penstock::host_cuda {

[[nodiscard]] size_t size_of(ncclDataType_t type);
[[nodiscard]] bool can_reduce(ncclDataType_t type, ncclRedOp_t op);
// to[i] = the copies' elements i taken together; copy m begins at copies + m * count elements. Each
// segment starts at another member, as in a ring.
void reduce(void* to, const std::byte* copies, size_t count, int members, ncclDataType_t type,
            ncclRedOp_t op);

}  // namespace penstock::host_cuda
