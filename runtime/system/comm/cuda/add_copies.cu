// runtime/system/comm/cuda/add_copies.cu -- see add_copies.h. Reads and writes each element once;
// the order of a sum depends on nothing but the ranks.
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/cuda/status.h"
#include "runtime/system/comm/cuda/add_copies.h"
#include "runtime/system/comm/pairwise.h"

namespace penstock {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 1024;  // a thread takes several elements if there are more

__global__ void add_kernel(float* own, const float* others, int64_t n, int rank, int ranks) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride) {
    PairwiseSumOf<float> sum;
    for (int member = 0; member < ranks; ++member) {
      const int64_t place = member < rank ? member : member - 1;
      sum.add(member == rank ? own[i] : others[place * n + i]);
    }
    own[i] = sum.total();
  }
}

}  // namespace

void add_copies(float* own, const float* others, int64_t n, int rank, int ranks,
                cudaStream_t stream) {
  if (n == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim.x = static_cast<uint32_t>(std::min((n + kThreads - 1) / kThreads, kMostBlocks));
  config.blockDim.x = kThreads;
  config.stream = stream;
  PENSTOCK_CUDA(cudaLaunchKernelEx(&config, add_kernel, own, others, n, rank, ranks));
}

}  // namespace penstock
