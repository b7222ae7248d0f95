// tests/host_cuda/sample_kernels.h -- kernels that test the emulation, right ones and wrong ones.
#pragma once

#include <cstdint>

#include "kernels/cuda/queue/queue.h"

namespace penstock::host_cuda {

// to[0] = the sum of n floats, by one block: shuffles in warps, then shared memory.
void submit_sum(Queue& queue, float* to, const float* from, int n);
// to[i] = from[n - 1 - i] within one block of n threads, through shared memory of static size, with
// or without the barrier that it needs; or of dynamic size, `spare_bytes` larger than it needs.
void submit_reverse(Queue& queue, float* to, const float* from, int n, bool with_barrier);
void submit_reverse_dynamic(Queue& queue, float* to, const float* from, int n,
                            uint32_t spare_bytes = 0);
// to[i] = from[i] * factor + i for n elements.
void submit_scale(Queue& queue, float* to, const float* from, float factor, int64_t n);
// to[2 b] and to[2 b + 1] = what block b finds in shared memory that it has not written.
void submit_peek(Queue& queue, float* to, int blocks);
// Half of the threads wait at one barrier, half at another.
void submit_torn_barrier(Queue& queue);
// Threads from `last` on end at once; the others meet at a barrier and count themselves.
void submit_early_end(Queue& queue, int32_t* to, int last);
// Every other lane shuffles, the rest waits for the block.
void submit_hang(Queue& queue);
// Reads a float4 where `from` is aligned for a float.
void submit_misaligned(Queue& queue, float* to, const float* from);
// to[0..4] = votes and shuffles of one warp, to compare with what CUDA says.
void submit_votes(Queue& queue, uint32_t* to);
// Each of n threads adds itself to to[0] and lets the largest index win to[1].
void submit_atomics(Queue& queue, int32_t* to, int n);

}  // namespace penstock::host_cuda
