// kernels/cuda/attention/attention_sinks.cu -- attention sinks: a warp a row of a head; of the
// gradient a block a head, whose sums have a fixed order.
#include "kernels/cuda/attention/attention_sinks_gpu.h"
#include "kernels/cuda/loops/rows.h"

namespace penstock {
namespace {

constexpr int kSinkWarps = 8;

// The place in logsumexp, [b, heads, t], of a row of out, [b, t, heads].
__device__ int64_t place_of_sum(const SinkSizes& sizes, int64_t row) {
  const int64_t position = row / sizes.heads;
  return (position / sizes.time * sizes.heads + row % sizes.heads) * sizes.time +
         position % sizes.time;
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    add_sinks_kernel(T* out, float* logsumexp, const float* sinks, SinkSizes sizes) {
  const int64_t row = row_of_thread<kWarp>();
  if (row >= sizes.rows) return;
  float* place = logsumexp + place_of_sum(sizes, row);
  const float sum = *place;
  const float sink = sinks[row % sizes.heads];
  const float top = fmaxf(sum, sink);
  const float all = top + logf(expf(sum - top) + expf(sink - top));
  const float share = expf(sum - all);
  T* line = out + row * sizes.depth;
  for (auto c = static_cast<int64_t>(threadIdx.x); c < sizes.depth; c += kWarp) {
    narrow_to(line + c, share * widened(line[c]));
  }
  __syncwarp();  // every lane has read the sum
  if (threadIdx.x == 0) *place = all;
}

template <class T>
__global__ void __launch_bounds__(kWarp* kSinkWarps)
    sinks_backward_kernel(float* dsinks, const T* g, const T* out, const float* logsumexp,
                          const float* sinks, SinkSizes sizes) {
  __shared__ float parts[kSinkWarps];
  const int64_t head = blockIdx.x;
  const float sink = sinks[head];
  float sum = 0.0F;
  for (int64_t position = threadIdx.y; position < sizes.rows / sizes.heads;
       position += kSinkWarps) {
    const int64_t row = position * sizes.heads + head;
    float dot = 0.0F;
    for (auto c = static_cast<int64_t>(threadIdx.x); c < sizes.depth; c += kWarp) {
      dot += widened(g[row * sizes.depth + c]) * widened(out[row * sizes.depth + c]);
    }
    dot = warp_reduce(dot, Plus{});
    sum -= expf(sink - logsumexp[place_of_sum(sizes, row)]) * dot;
  }
  if (threadIdx.x == 0) parts[threadIdx.y] = sum;
  __syncthreads();
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  float all = 0.0F;
  for (const float part : parts) all += part;
  dsinks[head] = all;
}

}  // namespace

void add_sinks(CudaContext& context, Tensor& out, Tensor& logsumexp, const Tensor& sinks,
               const SinkSizes& sizes) {
  if (sizes.rows == 0) return;
  with_element_type(out.dtype(), "add_sinks", [&]<class T>(T) {
    launch(context.queue, &add_sinks_kernel<T>, row_shape<kWarp>(sizes.rows), out.data<T>(),
           logsumexp.data<float>(), sinks.data<float>(), sizes);
  });
}

void sinks_backward(CudaContext& context, Tensor& dsinks, const Tensor& g, const Tensor& out,
                    const Tensor& logsumexp, const Tensor& sinks, const SinkSizes& sizes) {
  with_element_type(out.dtype(), "sinks_backward", [&]<class T>(T) {
    launch(context.queue, &sinks_backward_kernel<T>,
           {.grid = {static_cast<uint32_t>(sizes.heads)}, .block = {kWarp, kSinkWarps}},
           dsinks.data<float>(), g.data<T>(), out.data<T>(), logsumexp.data<float>(),
           sinks.data<float>(), sizes);
  });
}

}  // namespace penstock
