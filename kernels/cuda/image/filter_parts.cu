#include "kernels/cuda/image/filter_parts.h"
#include "kernels/cuda/loops/reduce.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kPartThreads = 16;  // threads that share the parts of an element

// Adds up the parts of a filter's gradient. A block has 32 neighbouring elements of [taps, out].
// Each row of its threads sums every 16th part, and then the first row adds up the rows' sums.
__global__ void __launch_bounds__(kWarp* kPartThreads)
    add_parts_kernel(float* gradient, const float* partial, int64_t taps, int64_t out,
                     int64_t parts, bool accumulate) {
  __shared__ double shared[kPartThreads][kWarp];
  const int lane = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(threadIdx.y);
  const int64_t i = int64_t{blockIdx.x} * kWarp + lane;
  double sum = 0.0;
  if (i < taps * out) {
#pragma unroll 4
    for (int64_t part = row; part < parts; part += kPartThreads) {
      sum += partial[part * taps * out + i];
    }
  }
  shared[row][lane] = sum;
  __syncthreads();
  if (row != 0 || i >= taps * out) return;
  for (int r = 1; r < kPartThreads; ++r) sum += shared[r][lane];
  float* to = gradient + i % out * taps + i / out;
  *to = static_cast<float>(accumulate ? *to + sum : sum);
}

}  // namespace

void add_filter_parts(CudaContext& context, const Tensor& gradient, const Tensor& partial,
                      bool accumulate) {
  const int64_t out = gradient.dim(0);
  const LaunchShape shape{.grid = {blocks_for(gradient.elements(), kWarp)},
                          .block = {kWarp, kPartThreads}};
  launch(context.queue, &add_parts_kernel, shape, gradient.data<float>(), partial.data<float>(),
         gradient.elements() / out, out, partial.elements() / gradient.elements(), accumulate);
}

}  // namespace penstock
