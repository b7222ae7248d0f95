// kernels/cuda/image/depthwise_convolution.cu -- convolutions of one channel at a time, of any
// window, stride and padding.
//
// They are bound by memory if each thread has several channels (8 bytes of bf16 an access), several
// positions with one reading of the filter, and 32-bit arithmetic for where they lie. Images are
// [n, h, w, channels]; every sum is in an order that depends on shapes alone.
#include <algorithm>

#include "kernels/checks.h"
#include "kernels/cuda/image/convolution_way.h"
#include "kernels/cuda/image/filter_layout.h"
#include "kernels/cuda/image/filter_parts.h"
#include "kernels/cuda/image/image_strip.h"
#include "kernels/cuda/loops/vector.h"

namespace penstock {
namespace {

constexpr int kWideChannels = 4;  // neighbouring channels of a thread, if this divides their number

struct PlaneExtents {
  int32_t n, h, w, oh, ow, channels;
  Window window;
};

// Returns the first of this thread's channels. Beyond the last channel the thread has none.
template <int N>
__device__ int first_channel() {
  return static_cast<int>(blockIdx.y * kWarp + threadIdx.x) * N;
}

template <int N>
__device__ void add_product(Floats<N>& sum, const Floats<N>& a, const Floats<N>& b) {
#pragma unroll
  for (int i = 0; i < N; ++i) sum[i] = fmaf(a[i], b[i], sum[i]);
}

// Computes y for a strip of outputs. The filter is turned: it is [kh, kw, channels].
template <class T, int N>
__global__ void __launch_bounds__(kWarp* kStripWarps)
    depthwise_forward_kernel(T* y, const T* x, const float* filter, PlaneExtents e) {
  const ImageStrip strip(e.n * e.oh, e.ow);
  const int channel = first_channel<N>();
  if (strip.row < 0 || channel >= e.channels) return;
  const Window& window = e.window;
  const int top = strip.row % e.oh * window.stride_h - window.pad_top;
  const int left = strip.first * window.stride_w - window.pad_left;
  Floats<N> sums[kStrip] = {};
  for (int ky = 0; ky < window.kernel_h; ++ky) {
    if (top + ky < 0 || top + ky >= e.h) continue;
    const int64_t row = int64_t{strip.row / e.oh} * e.h + top + ky;
    const T* from = x + row * e.w * e.channels + channel;
    for (int kx = 0; kx < window.kernel_w; ++kx) {
      const auto tap = load<N>(filter + (ky * window.kernel_w + kx) * e.channels + channel);
#pragma unroll
      for (int s = 0; s < kStrip; ++s) {
        const int ix = left + s * window.stride_w + kx;
        if (ix >= 0 && ix < e.w) add_product(sums[s], load<N>(from + ix * e.channels), tap);
      }
    }
  }
  T* to = y + (int64_t{strip.row} * e.ow + strip.first) * e.channels + channel;
  for (int s = 0; s < kStrip && strip.first + s < e.ow; ++s) {
    store<N>(to + s * e.channels, sums[s]);
  }
}

// Returns the output whose window starts `shifted` places into the padded axis, or -1 if there is
// none.
__device__ int output_at(int shifted, int stride, int extent) {
  if (shifted < 0) return -1;
  const int at = stride == 1 ? shifted : shifted / stride;
  return at * stride == shifted && at < extent ? at : -1;
}

// Computes dx for a strip of inputs.
template <class T, int N>
__global__ void __launch_bounds__(kWarp* kStripWarps)
    depthwise_backward_input_kernel(T* dx, const T* g, const float* filter, PlaneExtents e) {
  const ImageStrip strip(e.n * e.h, e.w);
  const int channel = first_channel<N>();
  if (strip.row < 0 || channel >= e.channels) return;
  const Window& window = e.window;
  const int bottom = strip.row % e.h + window.pad_top;
  const int right = strip.first + window.pad_left;
  Floats<N> sums[kStrip] = {};
  for (int ky = 0; ky < window.kernel_h; ++ky) {
    const int oy = output_at(bottom - ky, window.stride_h, e.oh);
    if (oy < 0) continue;
    const int64_t row = int64_t{strip.row / e.h} * e.oh + oy;
    const T* from = g + row * e.ow * e.channels + channel;
    for (int kx = 0; kx < window.kernel_w; ++kx) {
      const auto tap = load<N>(filter + (ky * window.kernel_w + kx) * e.channels + channel);
#pragma unroll
      for (int s = 0; s < kStrip; ++s) {
        const int ox = output_at(right + s - kx, window.stride_w, e.ow);
        if (ox >= 0) add_product(sums[s], load<N>(from + ox * e.channels), tap);
      }
    }
  }
  T* to = dx + (int64_t{strip.row} * e.w + strip.first) * e.channels + channel;
  for (int s = 0; s < kStrip && strip.first + s < e.w; ++s) {
    store<N>(to + s * e.channels, sums[s]);
  }
}

// These say how the gradient of a filter is cut. A block has a warp's channels, up to kTapsAcross
// taps of one row of the window, and some rows of the output. The warps of a block share the
// columns of these rows.
constexpr int kTapsAcross = 4;
constexpr int kRowWarps = 8;

struct PlaneCut {
  int32_t across;     // pieces of a row of the window
  int32_t pieces;     // pieces of the window
  int32_t rows_each;  // rows of a part, of the n x oh of the output
  int32_t parts;
};
PlaneCut plane_cut(const PlaneExtents& e) {
  constexpr int kBlocks = 1056;  // gives several blocks to each multiprocessor of any device
  constexpr int kMinRows = 4;
  const auto pieces_of = [](int all, int each) { return (all + each - 1) / each; };
  PlaneCut cut{};
  cut.across = pieces_of(e.window.kernel_w, kTapsAcross);
  cut.pieces = cut.across * e.window.kernel_h;
  const int tiles = pieces_of(e.channels, kWarp * kWideChannels);
  const int parts = std::max(1, kBlocks / (tiles * cut.pieces));
  cut.rows_each = std::max(pieces_of(e.n * e.oh, parts), kMinRows);
  cut.parts = pieces_of(e.n * e.oh, cut.rows_each);
  return cut;
}

// Adds up a warp's share of the block's part of the output, for the kTapsAcross taps from kx on in
// row ky.
template <class T, int N>
__device__ void sum_taps(Floats<N> (&sums)[kTapsAcross], const T* x, const T* g,
                         const PlaneExtents& e, const PlaneCut& cut, int ky, int kx, int channel) {
  const Window& window = e.window;
  const int begin = static_cast<int>(blockIdx.z) * cut.rows_each;
  const int end = min(begin + cut.rows_each, e.n * e.oh);
  for (int row = begin; row < end; ++row) {
    const int iy = row % e.oh * window.stride_h - window.pad_top + ky;
    if (iy < 0 || iy >= e.h) continue;
    const T* image = x + (int64_t{row / e.oh} * e.h + iy) * e.w * e.channels + channel;
    const T* gradients = g + int64_t{row} * e.ow * e.channels + channel;
    for (int ox = static_cast<int>(threadIdx.y); ox < e.ow; ox += kRowWarps) {
      const auto gradient = load<N>(gradients + ox * e.channels);
      const int left = ox * window.stride_w - window.pad_left + kx;
#pragma unroll
      for (int k = 0; k < kTapsAcross; ++k) {
        const int ix = left + k;
        if (kx + k < window.kernel_w && ix >= 0 && ix < e.w) {
          add_product(sums[k], load<N>(image + ix * e.channels), gradient);
        }
      }
    }
  }
}

// Sets partial[part, tap, channel] to the sum over a part of the output's rows. The sums of the
// warps are added in turn.
template <class T, int N>
__global__ void __launch_bounds__(kWarp* kRowWarps)
    depthwise_weight_kernel(float* partial, const T* x, const T* g, PlaneExtents e, PlaneCut cut) {
  alignas(16) __shared__ float shared[kRowWarps][kTapsAcross][kWarp * N];
  const int lane = static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.y);
  const int channel = first_channel<N>();
  const int piece = static_cast<int>(blockIdx.x);
  const int ky = piece / cut.across;
  const int kx = piece % cut.across * kTapsAcross;
  Floats<N> sums[kTapsAcross] = {};
  if (channel < e.channels) sum_taps<T, N>(sums, x, g, e, cut, ky, kx, channel);
#pragma unroll
  for (int k = 0; k < kTapsAcross; ++k) store<N>(&shared[warp][k][lane * N], sums[k]);
  __syncthreads();
  if (channel >= e.channels) return;
  const int taps = e.window.kernel_h * e.window.kernel_w;
  for (int k = warp; k < min(kTapsAcross, e.window.kernel_w - kx); k += kRowWarps) {
    Floats<N> sum = load<N>(&shared[0][k][lane * N]);
    for (int w = 1; w < kRowWarps; ++w) {
      for (int i = 0; i < N; ++i) sum[i] += shared[w][k][lane * N + i];
    }
    const int64_t tap = int64_t{blockIdx.z} * taps + ky * e.window.kernel_w + kx + k;
    store<N>(partial + tap * e.channels + channel, sum);
  }
}

PlaneExtents plane_extents(const ConvolutionShape& shape) {
  const auto number = [](int64_t extent) { return static_cast<int32_t>(extent); };
  return {.n = number(shape.x[0]),
          .h = number(shape.x[1]),
          .w = number(shape.x[2]),
          .oh = number(shape.y[1]),
          .ow = number(shape.y[2]),
          .channels = number(shape.in()),
          .window = shape.window};
}

// Calls f<T, N>() with the element type and the number of channels of a thread. N does not change a
// sum's terms or their order.
template <class F>
void with_kernel(DType type, int channels, std::initializer_list<const Tensor*> images,
                 const F& f) {
  with_element_type(type, "a convolution", [&]<class T>(T) {
    const bool wide = channels % kWideChannels == 0 &&
                      std::all_of(images.begin(), images.end(), [](const Tensor* image) {
                        return is_aligned<kWideChannels>(image->data<T>());
                      });
    if (wide) return f.template operator()<T, kWideChannels>();
    f.template operator()<T, 1>();
  });
}

class DepthwiseConvolutions final : public ConvolutionWay {
 public:
  explicit DepthwiseConvolutions(CudaContext& context) : context_(context) {}

  bool takes(const ConvolutionShape& shape) override {
    // The rows of an image are counted in 32 bits, and so are the elements of a row.
    constexpr int64_t kMost = int64_t{1} << 30;
    const auto fits = [](const Shape& image) {
      return image[0] * image[1] < kMost && image[2] * image[3] < kMost;
    };
    return shape.groups == shape.in() && shape.in() == shape.out() && fits(shape.x) &&
           fits(shape.y);
  }
  void forward(const Tensor& y, const Tensor& x, Weight& w,
               const ConvolutionShape& shape) override {
    const PlaneExtents e = plane_extents(shape);
    const Tensor turned = turned_filter(context_, w);
    with_kernel(shape.type, e.channels, {&y, &x}, [&]<class T, int N>() {
      launch(context_.queue, &depthwise_forward_kernel<T, N>,
             a_warp_a_strip(int64_t{e.n} * e.oh, e.ow, e.channels, N), y.data<T>(), x.data<T>(),
             turned.data<float>(), e);
    });
  }
  void backward_input(const Tensor& dx, const Tensor& g, Weight& w,
                      const ConvolutionShape& shape) override {
    const PlaneExtents e = plane_extents(shape);
    const Tensor turned = turned_filter(context_, w);
    with_kernel(shape.type, e.channels, {&dx, &g}, [&]<class T, int N>() {
      launch(context_.queue, &depthwise_backward_input_kernel<T, N>,
             a_warp_a_strip(int64_t{e.n} * e.h, e.w, e.channels, N), dx.data<T>(), g.data<T>(),
             turned.data<float>(), e);
    });
  }
  void backward_weight(const Tensor& dw, const Tensor& x, const Tensor& g,
                       const ConvolutionShape& shape, bool accumulate) override {
    const PlaneExtents e = plane_extents(shape);
    const PlaneCut cut = plane_cut(e);
    const Tensor partial = context_.scratch({cut.parts, dw.elements()}, DType::F32);
    with_kernel(shape.type, e.channels, {&x, &g}, [&]<class T, int N>() {
      const LaunchShape blocks{
          .grid = {static_cast<uint32_t>(cut.pieces), blocks_for(e.channels, kWarp * N),
                   static_cast<uint32_t>(cut.parts)},
          .block = {kWarp, kRowWarps}};
      launch(context_.queue, &depthwise_weight_kernel<T, N>, blocks, partial.data<float>(),
             x.data<T>(), g.data<T>(), e, cut);
    });
    add_filter_parts(context_, dw, partial, accumulate);
  }

 private:
  CudaContext& context_;
};

}  // namespace

std::unique_ptr<ConvolutionWay> depthwise_convolutions(CudaContext& context) {
  return std::make_unique<DepthwiseConvolutions>(context);
}

}  // namespace penstock
