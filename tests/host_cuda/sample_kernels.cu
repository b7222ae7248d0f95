// tests/host_cuda/sample_kernels.cu -- see sample_kernels.h.
#include "kernels/cuda/loops/dynamic_shared.h"
#include "kernels/cuda/queue/launch.h"
#include "tests/host_cuda/sample_kernels.h"

namespace penstock::host_cuda {
namespace {

constexpr unsigned kAll = 0xffffffffU;

__device__ float warp_sum(float value) {
  for (int step = warpSize / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAll, value, step);
  return value;
}

__global__ void sum(float* to, const float* from, int n) {
  __shared__ float partial[32];
  float own = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    own += from[i];
  own = warp_sum(own);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = own;
  __syncthreads();
  if (threadIdx.x < warpSize) {
    const unsigned warps = blockDim.x / warpSize;
    const float all = warp_sum(threadIdx.x < warps ? partial[threadIdx.x] : 0.0F);
    if (threadIdx.x == 0) *to = all;
  }
}

template <bool WithBarrier>
__global__ void reverse(float* to, const float* from) {
  __shared__ float shared[1024];
  const unsigned n = blockDim.x;
  shared[threadIdx.x] = from[threadIdx.x];
  if constexpr (WithBarrier) __syncthreads();
  to[threadIdx.x] = shared[n - 1 - threadIdx.x];
}

__global__ void reverse_dynamic(float* to, const float* from) {
  auto* shared = dynamic_shared<float>();
  const unsigned n = blockDim.x;
  shared[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = shared[n - 1 - threadIdx.x];
}

__global__ void scale(float* to, const float* from, float factor, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] * factor + static_cast<float>(i);
}

__global__ void peek(float* to) {
  auto* shared = dynamic_shared<float>();
  __shared__ float variable;
  to[2 * blockIdx.x] = *shared;
  to[2 * blockIdx.x + 1] = variable;
  *shared = variable = 1.0F;
}

__global__ void torn_barrier() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void early_end(int32_t* to, int last) {
  if (static_cast<int>(threadIdx.x) >= last) return;
  const int count = __syncthreads_count(1);
  if (threadIdx.x == 0) *to = count;
}

__global__ void hang() {
  if (threadIdx.x % 2 == 0) {
    (void)__shfl_sync(kAll, 1, 0);
  } else {
    __syncthreads();
  }
}

__global__ void misaligned(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  *to = four.x + four.w;
}

__global__ void votes(uint32_t* to) {
  const unsigned lane = threadIdx.x;
  const unsigned odd = __ballot_sync(kAll, static_cast<int>(lane & 1));
  const int all = __all_sync(kAll, 1);
  const int any = __any_sync(kAll, lane == 31 ? 1 : 0);
  const unsigned above = __shfl_down_sync(kAll, lane, 3);
  const unsigned below = __shfl_up_sync(kAll, lane, 3, 8);
  if (lane == 30) {
    to[0] = odd;
    to[1] = static_cast<uint32_t>(all * 2 + any);
    to[2] = above;  // beyond the end: its own
    to[3] = below;
  }
  if (lane == 5) to[4] = above;
}

__global__ void atomics(int32_t* to) {
  const auto i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(to, i);
  atomicMax(to + 1, i);
}

}  // namespace

void submit_sum(Queue& queue, float* to, const float* from, int n) {
  launch(queue, &sum, {dim3(1), dim3(256)}, to, from, n);
}

void submit_reverse(Queue& queue, float* to, const float* from, int n, bool with_barrier) {
  launch(queue, with_barrier ? &reverse<true> : &reverse<false>,
         {dim3(1), dim3(static_cast<unsigned>(n))}, to, from);
}

void submit_reverse_dynamic(Queue& queue, float* to, const float* from, int n,
                            uint32_t spare_bytes) {
  const auto threads = static_cast<unsigned>(n);
  launch(queue, &reverse_dynamic,
         {dim3(1), dim3(threads), threads * uint32_t{sizeof(float)} + spare_bytes}, to, from);
}

void submit_scale(Queue& queue, float* to, const float* from, float factor, int64_t n) {
  launch(queue, &scale, {dim3(blocks_for(n, 128)), dim3(128)}, to, from, factor, n);
}

void submit_peek(Queue& queue, float* to, int blocks) {
  launch(queue, &peek, {dim3(static_cast<unsigned>(blocks)), dim3(1), sizeof(float)}, to);
}

void submit_torn_barrier(Queue& queue) {
  launch(queue, &torn_barrier, {dim3(1), dim3(64)});
}

void submit_early_end(Queue& queue, int32_t* to, int last) {
  launch(queue, &early_end, {dim3(1), dim3(96)}, to, last);
}

void submit_hang(Queue& queue) {
  launch(queue, &hang, {dim3(1), dim3(32)});
}

void submit_misaligned(Queue& queue, float* to, const float* from) {
  launch(queue, &misaligned, {dim3(1), dim3(1)}, to, from);
}

void submit_votes(Queue& queue, uint32_t* to) {
  launch(queue, &votes, {dim3(1), dim3(32)}, to);
}

void submit_atomics(Queue& queue, int32_t* to, int n) {
  launch(queue, &atomics, {dim3(blocks_for(n, 64)), dim3(64)}, to);
}

}  // namespace penstock::host_cuda
