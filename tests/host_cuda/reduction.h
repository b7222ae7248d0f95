// tests/host_cuda/reduction.h -- what the emulated NCCL computes: sums and extremes over the
// members' copies.
#pragma once

#include <nccl.h>

#include <cstddef>

namespace penstock::host_cuda {

[[nodiscard]] size_t size_of(ncclDataType_t type);
// Whether reduce() can do that.
[[nodiscard]] bool can_reduce(ncclDataType_t type, ncclRedOp_t op);
// to[i] = elements i of all copies reduced by `op`; copy m begins m * count elements behind
// `copies`. Each segment starts with another member's copy, as in a ring.
void reduce(void* to, const std::byte* copies, size_t count, int members, ncclDataType_t type,
            ncclRedOp_t op);

}  // namespace penstock::host_cuda
