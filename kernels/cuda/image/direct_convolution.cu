// kernels/cuda/image/direct_convolution.cu -- see direct_convolution.h.
//
// Images are [n, h, w, channels]. The lanes of a warp have neighbouring channels, so that they read
// and write whole sectors of images; in depthwise convolutions, which these kernels meet most, of
// filters too, once those have been turned to [taps of a filter, out]. Every sum is in an order
// that depends on shapes alone.
#include <algorithm>

#include "kernels/checks.h"
#include "kernels/cuda/image/direct_convolution.h"
#include "kernels/cuda/loops/reduce.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kFilterThreads = 256;  // of kernels that go through a filter
constexpr int kWarps = 4;            // of those that go through an image
constexpr int kStrip = 4;  // neighbouring positions that a thread computes with one filter

// Input [n, h, w, in], output [n, oh, ow, out]; group_* count the channels of one group.
struct Extents {
  int64_t n, h, w, in, oh, ow, out;
  int64_t group_in, group_out;
  Window window;

  // Of one output channel.
  [[nodiscard]] __host__ __device__ int64_t taps() const {
    return group_in * window.kernel_h * window.kernel_w;
  }
  [[nodiscard]] __device__ int64_t tap(int64_t c, int ky, int kx) const {
    return (c * window.kernel_h + ky) * window.kernel_w + kx;
  }
};

// The input position that tap `tap` sees at output `at`, or -1 in the padding.
__device__ int64_t seen(int64_t at, int tap, int stride, int before, int64_t extent) {
  const int64_t position = at * stride - before + tap;
  return position >= 0 && position < extent ? position : -1;
}

// The output whose tap `tap` sees `position`, or -1 where there is none.
__device__ int64_t seeing(int64_t position, int tap, int stride, int before, int64_t extent) {
  const int64_t shifted = position + before - tap;
  if (shifted < 0 || shifted % stride != 0 || shifted / stride >= extent) return -1;
  return shifted / stride;
}

// From [out, taps] to [taps, out].
__global__ void __launch_bounds__(kFilterThreads)
    turn_filter_kernel(float* turned, const float* filter, int64_t taps, int64_t out) {
  const int64_t i = int64_t{blockIdx.x} * kFilterThreads + static_cast<int64_t>(threadIdx.x);
  if (i < taps * out) turned[i] = filter[i % out * taps + i / out];
}

// The strip of an image [rows, width] that a warp has.
struct Strip {
  int64_t row, first;
  __device__ Strip(int64_t rows, int64_t width) {
    const int64_t strips = (width + kStrip - 1) / kStrip;
    const int64_t i = int64_t{blockIdx.x} * kWarps + static_cast<int64_t>(threadIdx.y);
    row = i / strips < rows ? i / strips : -1;
    first = i % strips * kStrip;
  }
};

// A thread has one channel of a strip of outputs.
template <class T>
__global__ void __launch_bounds__(kWarp* kWarps)
    convolution_forward_kernel(T* y, const T* x, const float* turned, Extents e) {
  const Strip strip(e.n * e.oh, e.ow);
  const int64_t o = int64_t{blockIdx.y} * kWarp + static_cast<int64_t>(threadIdx.x);
  if (strip.row < 0 || o >= e.out) return;
  const int64_t n = strip.row / e.oh;
  const Window& window = e.window;
  const T* from = x + o / e.group_out * e.group_in;
  float sums[kStrip] = {};
  for (int ky = 0; ky < window.kernel_h; ++ky) {
    const int64_t iy = seen(strip.row % e.oh, ky, window.stride_h, window.pad_top, e.h);
    if (iy < 0) continue;
    for (int kx = 0; kx < window.kernel_w; ++kx) {
      int64_t at[kStrip];
      for (int s = 0; s < kStrip; ++s) {
        const int64_t ix = seen(strip.first + s, kx, window.stride_w, window.pad_left, e.w);
        at[s] = ix < 0 ? -1 : ((n * e.h + iy) * e.w + ix) * e.in;
      }
      for (int64_t c = 0; c < e.group_in; ++c) {
        const float w = turned[e.tap(c, ky, kx) * e.out + o];
        for (int s = 0; s < kStrip; ++s) {
          if (at[s] >= 0) sums[s] += widened(from[at[s] + c]) * w;
        }
      }
    }
  }
  for (int s = 0; s < kStrip && strip.first + s < e.ow; ++s) {
    narrow_to(y + (strip.row * e.ow + strip.first + s) * e.out + o, sums[s]);
  }
}

// A thread has one channel of a strip of inputs.
template <class T>
__global__ void __launch_bounds__(kWarp* kWarps)
    backward_input_kernel(T* dx, const T* g, const float* turned, Extents e) {
  const Strip strip(e.n * e.h, e.w);
  const int64_t c = int64_t{blockIdx.y} * kWarp + static_cast<int64_t>(threadIdx.x);
  if (strip.row < 0 || c >= e.in) return;
  const int64_t n = strip.row / e.h;
  const Window& window = e.window;
  const int64_t first = c / e.group_in * e.group_out;
  float sums[kStrip] = {};
  for (int ky = 0; ky < window.kernel_h; ++ky) {
    const int64_t oy = seeing(strip.row % e.h, ky, window.stride_h, window.pad_top, e.oh);
    if (oy < 0) continue;
    for (int kx = 0; kx < window.kernel_w; ++kx) {
      int64_t at[kStrip];
      for (int s = 0; s < kStrip; ++s) {
        const int64_t ox = seeing(strip.first + s, kx, window.stride_w, window.pad_left, e.ow);
        at[s] = ox < 0 ? -1 : ((n * e.oh + oy) * e.ow + ox) * e.out + first;
      }
      const float* taps = turned + e.tap(c % e.group_in, ky, kx) * e.out + first;
      for (int64_t o = 0; o < e.group_out; ++o) {
        for (int s = 0; s < kStrip; ++s) {
          if (at[s] >= 0) sums[s] += widened(g[at[s] + o]) * taps[o];
        }
      }
    }
  }
  for (int s = 0; s < kStrip && strip.first + s < e.w; ++s) {
    narrow_to(dx + (strip.row * e.w + strip.first + s) * e.in + c, sums[s]);
  }
}

// How the gradient of a filter is cut: a block has 32 output channels, one input channel of their
// groups, up to kAcross taps of one row of the window, and some rows of the output.
constexpr int kAcross = 8;
constexpr int kRowThreads = 8;  // threads that share a row

struct WeightCut {
  int64_t tiles;      // of output channels
  int64_t across;     // pieces of a row of the window
  int64_t blocks;     // tiles x group_in x rows of the window x across
  int64_t rows_each;  // of the n x oh of the output
  int64_t parts;
};
WeightCut weight_cut(const Extents& e) {
  constexpr int64_t kBlocks = 1024;  // enough to fill any device
  constexpr int64_t kMinRows = 4;
  constexpr int64_t kMostParts = 65535;
  const auto pieces = [](int64_t all, int64_t each) { return (all + each - 1) / each; };
  WeightCut cut{};
  cut.tiles = pieces(e.out, kWarp);
  cut.across = pieces(e.window.kernel_w, kAcross);
  cut.blocks = cut.tiles * e.group_in * e.window.kernel_h * cut.across;
  const int64_t rows = e.n * e.oh;
  cut.rows_each =
      std::max({pieces(rows * cut.blocks, kBlocks), pieces(rows, kMostParts), kMinRows});
  cut.parts = pieces(rows, cut.rows_each);
  return cut;
}

// partial[part, tap, out]: the sums of a part of the output's rows, those of the row lanes in turn.
template <class T>
__global__ void __launch_bounds__(kWarp* kRowThreads)
    partial_weight_kernel(float* partial, const T* x, const T* g, Extents e, WeightCut cut) {
  __shared__ float shared[kRowThreads][kAcross][kWarp];
  const int lane = static_cast<int>(threadIdx.x);
  const int row_lane = static_cast<int>(threadIdx.y);
  const Window& window = e.window;
  const int64_t piece = int64_t{blockIdx.x} / cut.tiles;
  const int64_t o = int64_t{blockIdx.x} % cut.tiles * kWarp + lane;
  const auto kx = static_cast<int>(piece % cut.across * kAcross);
  const auto ky = static_cast<int>(piece / cut.across % window.kernel_h);
  const int64_t c = piece / cut.across / window.kernel_h;
  const int64_t channel = o / e.group_out * e.group_in + c;
  const int taps = window.kernel_w - kx < kAcross ? window.kernel_w - kx : kAcross;
  float sums[kAcross] = {};
  const int64_t begin = int64_t{blockIdx.y} * cut.rows_each;
  const int64_t end = begin + cut.rows_each < e.n * e.oh ? begin + cut.rows_each : e.n * e.oh;
  for (int64_t row = begin; o < e.out && row < end; ++row) {
    const int64_t iy = seen(row % e.oh, ky, window.stride_h, window.pad_top, e.h);
    if (iy < 0) continue;
    const T* image = x + (row / e.oh * e.h + iy) * e.w * e.in + channel;
    for (int64_t ox = row_lane; ox < e.ow; ox += kRowThreads) {
      const float gradient = widened(g[(row * e.ow + ox) * e.out + o]);
#pragma unroll
      for (int k = 0; k < kAcross; ++k) {
        const int64_t ix = seen(ox, kx + k, window.stride_w, window.pad_left, e.w);
        if (k < taps && ix >= 0) sums[k] += widened(image[ix * e.in]) * gradient;
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kAcross; ++k) shared[row_lane][k][lane] = sums[k];
  __syncthreads();
  if (o >= e.out) return;
  for (int k = row_lane; k < taps; k += kRowThreads) {
    float sum = 0.0F;
    for (int r = 0; r < kRowThreads; ++r) sum += shared[r][k][lane];
    partial[(int64_t{blockIdx.y} * e.taps() + e.tap(c, ky, kx + k)) * e.out + o] = sum;
  }
}

// dw[out, taps] += the parts, in their order.
__global__ void __launch_bounds__(kFilterThreads)
    add_parts_kernel(float* dw, const float* partial, int64_t taps, int64_t out, int64_t parts) {
  const int64_t i = int64_t{blockIdx.x} * kFilterThreads + static_cast<int64_t>(threadIdx.x);
  if (i >= taps * out) return;
  double sum = 0.0;
#pragma unroll 4
  for (int64_t part = 0; part < parts; ++part) sum += partial[part * taps * out + i];
  dw[i % out * taps + i / out] += static_cast<float>(sum);
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
  return {.grid = {blocks_for(elements, kFilterThreads)}, .block = {kFilterThreads}};
}

LaunchShape a_warp_a_strip(int64_t rows, int64_t width, int64_t channels) {
  const int64_t strips = (width + kStrip - 1) / kStrip;
  return {.grid = {blocks_for(rows * strips, kWarps), blocks_for(channels, kWarp)},
          .block = {kWarp, kWarps}};
}

Tensor turned(CudaContext& context, const Tensor& filter, const Extents& e) {
  const Tensor to = context.scratch({e.taps(), e.out}, DType::F32);
  launch(context.queue, &turn_filter_kernel, one_thread_each(e.taps() * e.out), to.data<float>(),
         filter.data<float>(), e.taps(), e.out);
  return to;
}

}  // namespace

void direct_forward(CudaContext& context, const Tensor& y, const Tensor& x, const Tensor& filter,
                    const Window& window, int groups) {
  const Extents e = extents(x, y, window, groups);
  const Tensor w = turned(context, filter, e);
  with_element_type(y.dtype(), "a convolution", [&]<class T>(T) {
    launch(context.queue, &convolution_forward_kernel<T>, a_warp_a_strip(e.n * e.oh, e.ow, e.out),
           y.data<T>(), x.data<T>(), w.data<float>(), e);
  });
}

void direct_backward_input(CudaContext& context, const Tensor& dx, const Tensor& g,
                           const Tensor& filter, const Window& window, int groups) {
  const Extents e = extents(dx, g, window, groups);
  const Tensor w = turned(context, filter, e);
  with_element_type(dx.dtype(), "a convolution", [&]<class T>(T) {
    launch(context.queue, &backward_input_kernel<T>, a_warp_a_strip(e.n * e.h, e.w, e.in),
           dx.data<T>(), g.data<T>(), w.data<float>(), e);
  });
}

void direct_backward_weight(CudaContext& context, const Tensor& dw, const Tensor& x,
                            const Tensor& g, const Window& window, int groups) {
  const Extents e = extents(x, g, window, groups);
  const WeightCut cut = weight_cut(e);
  const Tensor partial = context.scratch({cut.parts, e.taps(), e.out}, DType::F32);
  const LaunchShape shape{
      .grid = {static_cast<uint32_t>(cut.blocks), static_cast<uint32_t>(cut.parts)},
      .block = {kWarp, kRowThreads}};
  with_element_type(x.dtype(), "a convolution", [&]<class T>(T) {
    launch(context.queue, &partial_weight_kernel<T>, shape, partial.data<float>(), x.data<T>(),
           g.data<T>(), e, cut);
  });
  launch(context.queue, &add_parts_kernel, one_thread_each(e.taps() * e.out), dw.data<float>(),
         partial.data<float>(), e.taps(), e.out, cut.parts);
}

}  // namespace penstock
