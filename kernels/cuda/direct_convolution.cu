#include "kernels/checks.h"
#include "kernels/cuda/direct_convolution.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/vector.h"

namespace penstock {
namespace {

constexpr int kThreads = 128;

// Input [n, h, w, in], output [n, oh, ow, out]; group_* count the channels of one group.
struct Extents {
  int64_t n, h, w, in, oh, ow, out;
  int64_t group_in, group_out;
  Window window;

  [[nodiscard]] constexpr int64_t input_elements() const { return n * h * w * in; }
  [[nodiscard]] constexpr int64_t output_elements() const { return n * oh * ow * out; }
  [[nodiscard]] constexpr int64_t filter_elements() const {
    return out * group_in * window.kernel_h * window.kernel_w;
  }
};

// The input position that tap `tap` sees at output `at`, or -1 in the padding.
__device__ int64_t seen(int64_t at, int tap, int stride, int before, int64_t extent) {
  const int64_t position = at * stride - before + tap;
  return position < extent ? position : -1;
}

// The output whose tap `tap` sees `position`, or -1 where there is none.
__device__ int64_t seeing(int64_t position, int tap, int stride, int before, int64_t extent) {
  const int64_t shifted = position + before - tap;
  if (shifted < 0 || shifted % stride != 0 || shifted / stride >= extent) return -1;
  return shifted / stride;
}

__device__ int64_t filter_at(const Extents& e, int64_t o, int64_t c, int ky, int kx) {
  return ((o * e.group_in + c) * e.window.kernel_h + ky) * e.window.kernel_w + kx;
}

template <class T>
__global__ void forward(T* y, const T* x, const float* filter, Extents e) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= e.output_elements()) return;
  const int64_t o = i % e.out;
  const int64_t ox = i / e.out % e.ow;
  const int64_t oy = i / e.out / e.ow % e.oh;
  const int64_t n = i / e.out / e.ow / e.oh;
  const int64_t first = o / e.group_out * e.group_in;
  const Window& window = e.window;
  float sum = 0.0F;
  for (int ky = 0; ky < window.kernel_h; ++ky) {
    const int64_t iy = seen(oy, ky, window.stride_h, window.pad_top, e.h);
    if (iy < 0) continue;
    for (int kx = 0; kx < window.kernel_w; ++kx) {
      const int64_t ix = seen(ox, kx, window.stride_w, window.pad_left, e.w);
      if (ix < 0) continue;
      const T* from = x + ((n * e.h + iy) * e.w + ix) * e.in + first;
      for (int64_t c = 0; c < e.group_in; ++c) {
        sum += widened(from[c]) * filter[filter_at(e, o, c, ky, kx)];
      }
    }
  }
  narrow_to(y + i, sum);
}

template <class T>
__global__ void backward_input(T* dx, const T* g, const float* filter, Extents e) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= e.input_elements()) return;
  const int64_t c = i % e.in;
  const int64_t ix = i / e.in % e.w;
  const int64_t iy = i / e.in / e.w % e.h;
  const int64_t n = i / e.in / e.w / e.h;
  const int64_t first = c / e.group_in * e.group_out;
  const Window& window = e.window;
  float sum = 0.0F;
  for (int ky = 0; ky < window.kernel_h; ++ky) {
    const int64_t oy = seeing(iy, ky, window.stride_h, window.pad_top, e.oh);
    if (oy < 0) continue;
    for (int kx = 0; kx < window.kernel_w; ++kx) {
      const int64_t ox = seeing(ix, kx, window.stride_w, window.pad_left, e.ow);
      if (ox < 0) continue;
      const T* from = g + ((n * e.oh + oy) * e.ow + ox) * e.out + first;
      for (int64_t o = 0; o < e.group_out; ++o) {
        sum += widened(from[o]) * filter[filter_at(e, first + o, c % e.group_in, ky, kx)];
      }
    }
  }
  narrow_to(dx + i, sum);
}

// A block owns one element of the filter: its threads share the output positions, and their sums
// are added pairwise in one order.
template <class T>
__global__ void backward_weight(float* dw, const T* x, const T* g, Extents e) {
  __shared__ float sums[kThreads];
  const int64_t i = blockIdx.x;
  const Window& window = e.window;
  const auto kx = static_cast<int>(i % window.kernel_w);
  const auto ky = static_cast<int>(i / window.kernel_w % window.kernel_h);
  const int64_t c = i / window.kernel_w / window.kernel_h % e.group_in;
  const int64_t o = i / window.kernel_w / window.kernel_h / e.group_in;
  const int64_t channel = o / e.group_out * e.group_in + c;
  float sum = 0.0F;
  for (int64_t at = threadIdx.x; at < e.n * e.oh * e.ow; at += kThreads) {
    const int64_t iy = seen(at / e.ow % e.oh, ky, window.stride_h, window.pad_top, e.h);
    const int64_t ix = seen(at % e.ow, kx, window.stride_w, window.pad_left, e.w);
    if (iy < 0 || ix < 0) continue;
    const int64_t n = at / e.ow / e.oh;
    sum += widened(x[((n * e.h + iy) * e.w + ix) * e.in + channel]) * widened(g[at * e.out + o]);
  }
  sums[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) dw[i] += sums[0];
}

Extents extents(const Tensor& x, const Tensor& y, const Window& window, int groups) {
  return {.n = x.dim(0),
          .h = x.dim(1),
          .w = x.dim(2),
          .in = x.dim(3),
          .oh = y.dim(1),
          .ow = y.dim(2),
          .out = y.dim(3),
          .group_in = x.dim(3) / groups,
          .group_out = y.dim(3) / groups,
          .window = window};
}

LaunchShape one_thread_each(int64_t elements) {
  return {.grid = {blocks_for(elements, kThreads), 1, 1}, .block = {kThreads, 1, 1}};
}

}  // namespace

void direct_forward(CudaContext& context, const Tensor& y, const Tensor& x, const Tensor& filter,
                    const Window& window, int groups) {
  const Extents e = extents(x, y, window, groups);
  with_element_type(y.dtype(), "a convolution", [&]<class T>(T) {
    launch(context.queue, &forward<T>, one_thread_each(e.output_elements()), y.data<T>(),
           x.data<T>(), filter.data<float>(), e);
  });
}

void direct_backward_input(CudaContext& context, const Tensor& dx, const Tensor& g,
                           const Tensor& filter, const Window& window, int groups) {
  const Extents e = extents(dx, g, window, groups);
  with_element_type(dx.dtype(), "a convolution", [&]<class T>(T) {
    launch(context.queue, &backward_input<T>, one_thread_each(e.input_elements()), dx.data<T>(),
           g.data<T>(), filter.data<float>(), e);
  });
}

void direct_backward_weight(CudaContext& context, const Tensor& dw, const Tensor& x,
                            const Tensor& g, const Window& window, int groups) {
  const Extents e = extents(x, g, window, groups);
  const LaunchShape one_block_each{.grid = {static_cast<uint32_t>(e.filter_elements()), 1, 1},
                                   .block = {kThreads, 1, 1}};
  with_element_type(x.dtype(), "a convolution", [&]<class T>(T) {
    launch(context.queue, &backward_weight<T>, one_block_each, dw.data<float>(), x.data<T>(),
           g.data<T>(), e);
  });
}

}  // namespace penstock
