// kernels/cuda/image/direct_convolution.cu -- convolutions as their definition says, one element at
// a time: right for every window, group count and type, and slow where many channels mix. For what
// cuDNN does not take (a padding that differs between two sides; a combination that it has no
// deterministic algorithm for).
//
// Images are [n, h, w, channels]. The lanes of a warp have neighbouring channels, so that they read
// and write whole sectors of images. Every sum is in an order that depends on shapes alone.
#include <algorithm>

#include "kernels/checks.h"
#include "kernels/cuda/image/convolution_way.h"
#include "kernels/cuda/image/filter_layout.h"
#include "kernels/cuda/image/filter_parts.h"
#include "kernels/cuda/image/image_strip.h"
#include "kernels/cuda/loops/vector.h"

namespace penstock {
namespace {

// Holds the extents of the input [n, h, w, in] and the output [n, oh, ow, out]. group_* count the
// channels of one group.
struct Extents {
  int64_t n, h, w, in, oh, ow, out;
  int64_t group_in, group_out;
  Window window;

  // Returns the number of taps of one output channel.
  [[nodiscard]] __host__ __device__ int64_t taps() const {
    return group_in * window.kernel_h * window.kernel_w;
  }
  [[nodiscard]] __device__ int64_t tap(int64_t c, int ky, int kx) const {
    return (c * window.kernel_h + ky) * window.kernel_w + kx;
  }
};

// Returns the input position that tap `tap` sees at output `at`, or -1 if that is in the padding.
__device__ int64_t seen(int64_t at, int tap, int stride, int before, int64_t extent) {
  const int64_t position = at * stride - before + tap;
  return position >= 0 && position < extent ? position : -1;
}

// Returns the output whose tap `tap` sees `position`, or -1 if there is none.
__device__ int64_t seeing(int64_t position, int tap, int stride, int before, int64_t extent) {
  const int64_t shifted = position + before - tap;
  if (shifted < 0 || shifted % stride != 0 || shifted / stride >= extent) return -1;
  return shifted / stride;
}

// Computes y. A thread computes one channel of a strip of outputs.
template <class T>
__global__ void __launch_bounds__(kWarp* kStripWarps)
    convolution_forward_kernel(T* y, const T* x, const float* turned, Extents e) {
  const ImageStrip strip(static_cast<int>(e.n * e.oh), static_cast<int>(e.ow));
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

// Computes dx. A thread computes one channel of a strip of inputs.
template <class T>
__global__ void __launch_bounds__(kWarp* kStripWarps)
    backward_input_kernel(T* dx, const T* g, const float* turned, Extents e) {
  const ImageStrip strip(static_cast<int>(e.n * e.h), static_cast<int>(e.w));
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

// These say how the gradient of a filter is cut. A block has 32 output channels, one input channel
// of the group of each, up to kAcross taps of one row of the window, and some rows of the output.
constexpr int kAcross = 8;
constexpr int kRowThreads = 8;  // threads that share a row

struct WeightCut {
  int64_t tiles;      // tiles of output channels
  int64_t across;     // pieces of a row of the window
  int64_t blocks;     // tiles x group_in x rows of the window x across
  int64_t rows_each;  // rows of a part, of the n x oh of the output
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

// Sets partial[part, tap, out] to the sum over a part of the output's rows. The sums of the row
// lanes are added in turn.
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

Extents extents(const ConvolutionShape& shape) {
  return {.n = shape.x[0],
          .h = shape.x[1],
          .w = shape.x[2],
          .in = shape.in(),
          .oh = shape.y[1],
          .ow = shape.y[2],
          .out = shape.out(),
          .group_in = shape.in() / shape.groups,
          .group_out = shape.out() / shape.groups,
          .window = shape.window};
}

class DirectConvolutions final : public ConvolutionWay {
 public:
  explicit DirectConvolutions(CudaContext& context) : context_(context) {}

  bool takes(const ConvolutionShape& /*shape*/) override { return true; }
  void forward(const Tensor& y, const Tensor& x, Weight& w,
               const ConvolutionShape& shape) override {
    const Extents e = extents(shape);
    const Tensor turned = turned_filter(context_, w);
    with_element_type(shape.type, "a convolution", [&]<class T>(T) {
      launch(context_.queue, &convolution_forward_kernel<T>,
             a_warp_a_strip(e.n * e.oh, e.ow, e.out), y.data<T>(), x.data<T>(),
             turned.data<float>(), e);
    });
  }
  void backward_input(const Tensor& dx, const Tensor& g, Weight& w,
                      const ConvolutionShape& shape) override {
    const Extents e = extents(shape);
    const Tensor turned = turned_filter(context_, w);
    with_element_type(shape.type, "a convolution", [&]<class T>(T) {
      launch(context_.queue, &backward_input_kernel<T>, a_warp_a_strip(e.n * e.h, e.w, e.in),
             dx.data<T>(), g.data<T>(), turned.data<float>(), e);
    });
  }
  void backward_weight(const Tensor& dw, const Tensor& x, const Tensor& g,
                       const ConvolutionShape& shape, bool accumulate) override {
    const Extents e = extents(shape);
    const WeightCut cut = weight_cut(e);
    const Tensor partial = context_.scratch({cut.parts, e.taps(), e.out}, DType::F32);
    const LaunchShape blocks{
        .grid = {static_cast<uint32_t>(cut.blocks), static_cast<uint32_t>(cut.parts)},
        .block = {kWarp, kRowThreads}};
    with_element_type(shape.type, "a convolution", [&]<class T>(T) {
      launch(context_.queue, &partial_weight_kernel<T>, blocks, partial.data<float>(), x.data<T>(),
             g.data<T>(), e, cut);
    });
    add_filter_parts(context_, dw, partial, accumulate);
  }

 private:
  CudaContext& context_;
};

}  // namespace

std::unique_ptr<ConvolutionWay> direct_convolutions(CudaContext& context) {
  return std::make_unique<DirectConvolutions>(context);
}

}  // namespace penstock
