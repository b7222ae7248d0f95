// kernels/cuda/image/pool.cu -- pooling over channels-last images. A thread owns a group of 16
// bytes of neighbouring channels of one output pixel and gathers what it is made of, in ascending
// order: no atomics, and forward and backward repeat to the bit. Bound by memory; where windows
// overlap, what is read again comes from the caches.
#include <algorithm>

#include "kernels/checks.h"
#include "kernels/cuda/image/pixel_threads.h"
#include "kernels/cuda/image/pool.h"
#include "kernels/cuda/loops/reduce.h"

namespace penstock {
namespace {

// Holds the positions [first, last) along one axis.
struct Range {
  int first, last;
  [[nodiscard]] __device__ int size() const { return last - first; }
};

// Describes one axis of a pooling: the image's extent, the window over it, and how many windows
// there are.
struct PoolWindow {
  int extent, kernel, stride, before, windows;

  // Returns the part of the image under window `at`.
  [[nodiscard]] __device__ Range under(int at) const {
    const int start = at * stride - before;
    return {max(start, 0), min(start + kernel, extent)};
  }
  // Returns the windows over position `at`.
  [[nodiscard]] __device__ Range over(int at) const {
    const int past = at + before - kernel + 1;  // the first window starts here or later
    return {past <= 0 ? 0 : (past + stride - 1) / stride, min((at + before) / stride + 1, windows)};
  }
};

struct Pooling {
  PoolWindow rows, columns;
  int64_t channels;

  [[nodiscard]] __device__ int64_t pixel(int64_t image, int y, int x) const {
    return ((image * rows.extent + y) * columns.extent + x) * channels;
  }
  [[nodiscard]] __device__ int64_t window(int64_t image, int oy, int ox) const {
    return ((image * rows.windows + oy) * columns.windows + ox) * channels;
  }
  // Returns the position of image element (y, x) inside window (oy, ox), counted row by row.
  [[nodiscard]] __device__ int position(int y, int x, int oy, int ox) const {
    return (y + rows.before - oy * rows.stride) * columns.kernel + x + columns.before -
           ox * columns.stride;
  }
};

// Writes the maximum of each window to y, and its position to `chosen`, which may be null.
template <int N, class T>
__global__ void __launch_bounds__(kPixelThreads)
    maximum_kernel(T* y, int32_t* chosen, const T* x, Pooling p) {
  const Place at = place_of_thread<N>(p.rows.windows, p.columns.windows, p.channels);
  if (!at.inside) return;
  const Range rows = p.rows.under(at.y);
  const Range columns = p.columns.under(at.x);
  Floats<N> best;
  int position[N];
  for (int k = 0; k < N; ++k) {
    best[k] = -INFINITY;
    position[k] = p.position(rows.first, columns.first, at.y, at.x);
  }
  for (int iy = rows.first; iy < rows.last; ++iy) {
    for (int ix = columns.first; ix < columns.last; ++ix) {
      const Floats<N> value = load<N>(x + p.pixel(at.image, iy, ix) + at.channel);
      const int here = p.position(iy, ix, at.y, at.x);
      for (int k = 0; k < N; ++k) {
        const bool better = value[k] > best[k] || value[k] != value[k];  // once taken, a NaN stays
        best[k] = better ? value[k] : best[k];
        position[k] = better ? here : position[k];
      }
    }
  }
  const int64_t to = p.window(at.image, at.y, at.x) + at.channel;
  store<N>(y + to, best);
  if (chosen == nullptr) return;
  for (int k = 0; k < N; ++k) chosen[to + k] = position[k];
}

template <int N, class T>
__global__ void __launch_bounds__(kPixelThreads) average_kernel(T* y, const T* x, Pooling p) {
  const Place at = place_of_thread<N>(p.rows.windows, p.columns.windows, p.channels);
  if (!at.inside) return;
  const Range rows = p.rows.under(at.y);
  const Range columns = p.columns.under(at.x);
  Floats<N> sum{};
  for (int iy = rows.first; iy < rows.last; ++iy) {
    for (int ix = columns.first; ix < columns.last; ++ix) {
      const Floats<N> value = load<N>(x + p.pixel(at.image, iy, ix) + at.channel);
      for (int k = 0; k < N; ++k) sum[k] += value[k];
    }
  }
  const float share = 1.0F / static_cast<float>(rows.size() * columns.size());
  for (int k = 0; k < N; ++k) sum[k] *= share;
  store<N>(y + p.window(at.image, at.y, at.x) + at.channel, sum);
}

// Writes the gradient of each image element (y, x): the sum of what every window over it passes
// back, in ascending order of windows. `chosen` is null for the average.
template <int N, class T>
__global__ void __launch_bounds__(kPixelThreads)
    gather_kernel(T* dx, const T* g, const int32_t* chosen, Pooling p) {
  const Place at = place_of_thread<N>(p.rows.extent, p.columns.extent, p.channels);
  if (!at.inside) return;
  const Range rows = p.rows.over(at.y);
  const Range columns = p.columns.over(at.x);
  Floats<N> sum{};
  for (int oy = rows.first; oy < rows.last; ++oy) {
    for (int ox = columns.first; ox < columns.last; ++ox) {
      const int64_t from = p.window(at.image, oy, ox) + at.channel;
      const Floats<N> gradient = load<N>(g + from);
      if (chosen != nullptr) {
        const int here = p.position(at.y, at.x, oy, ox);
        for (int k = 0; k < N; ++k) sum[k] += chosen[from + k] == here ? gradient[k] : 0.0F;
      } else {
        const int size = p.rows.under(oy).size() * p.columns.under(ox).size();
        const float share = 1.0F / static_cast<float>(size);
        for (int k = 0; k < N; ++k) sum[k] += share * gradient[k];
      }
    }
  }
  store<N>(dx + p.pixel(at.image, at.y, at.x) + at.channel, sum);
}

Pooling pooling_of(const Tensor& image, const Tensor& pooled, const Window& w) {
  const auto extent = [](const Tensor& t, int axis) { return static_cast<int>(t.dim(axis)); };
  return {{extent(image, 1), w.kernel_h, w.stride_h, w.pad_top, extent(pooled, 1)},
          {extent(image, 2), w.kernel_w, w.stride_w, w.pad_left, extent(pooled, 2)},
          image.dim(3)};
}

constexpr int kLanes = 8;  // threads that share the pixels of a channel

// Sets y[image, channel] to the mean over the pixels. Each of kLanes threads adds every kLanes-th
// pixel, and then the threads' sums are added in turn.
template <int N, class T>
__global__ void __launch_bounds__(kWarp* kLanes)
    mean_kernel(T* y, const T* x, int64_t pixels, int64_t channels) {
  __shared__ float shared[kLanes][kWarp * N];
  const int lane = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(threadIdx.y);
  const int64_t image = blockIdx.x;
  const int64_t channel = (int64_t{blockIdx.y} * kWarp + lane) * N;
  Floats<N> sum{};
  if (channel < channels) {
    const T* from = x + image * pixels * channels + channel;
#pragma unroll 4
    for (int64_t pixel = row; pixel < pixels; pixel += kLanes) {
      const Floats<N> value = load<N>(from + pixel * channels);
      for (int k = 0; k < N; ++k) sum[k] += value[k];
    }
  }
  for (int k = 0; k < N; ++k) shared[row][k * kWarp + lane] = sum[k];
  __syncthreads();
  if (row != 0 || channel >= channels) return;
  const float share = 1.0F / static_cast<float>(pixels);
  for (int k = 0; k < N; ++k) {
    for (int r = 1; r < kLanes; ++r) sum[k] += shared[r][k * kWarp + lane];
    sum[k] *= share;
  }
  store<N>(y + image * channels + channel, sum);
}

// Sets each element of dx to its share of g. Each blockIdx.x stands for one row of pixels, as in
// Place.
template <int N, class T>
__global__ void __launch_bounds__(kPixelThreads)
    spread_kernel(T* dx, const T* g, int height, int width, int64_t channels) {
  const Place at = place_of_thread<N>(height, width, channels);
  if (!at.inside) return;
  const float share = 1.0F / static_cast<float>(height * width);
  Floats<N> value = load<N>(g + at.image * channels + at.channel);
  for (int k = 0; k < N; ++k) value[k] *= share;
  store<N>(dx + ((at.image * height + at.y) * width + at.x) * channels + at.channel, value);
}

}  // namespace

void pool_forward(CudaContext& context, Tensor& y, Tensor* chosen, const Tensor& x,
                  const Window& window, Pool kind) {
  const Pooling p = pooling_of(x, y, window);
  int32_t* positions = chosen != nullptr ? chosen->data<int32_t>() : nullptr;
  with_element_type(x.dtype(), "pool2d_forward", [&]<class T>(T) {
    by_group<T>(p.channels, y.raw(), x.raw(), [&]<int N>() {
      const LaunchShape shape = place_shape<N>(y.dim(0), y.dim(1), y.dim(2), p.channels);
      if (kind == Pool::Max) {
        launch(context.queue, &maximum_kernel<N, T>, shape, y.data<T>(), positions, x.data<T>(), p);
      } else {
        launch(context.queue, &average_kernel<N, T>, shape, y.data<T>(), x.data<T>(), p);
      }
    });
  });
}

void pool_backward(CudaContext& context, Tensor& dx, const Tensor& g, const Tensor* chosen,
                   const Window& window, Pool kind) {
  const Pooling p = pooling_of(dx, g, window);
  const int32_t* positions = kind == Pool::Max ? chosen->data<int32_t>() : nullptr;
  with_element_type(g.dtype(), "pool2d_backward", [&]<class T>(T) {
    by_group<T>(p.channels, dx.raw(), g.raw(), [&]<int N>() {
      launch(context.queue, &gather_kernel<N, T>,
             place_shape<N>(dx.dim(0), dx.dim(1), dx.dim(2), p.channels), dx.data<T>(), g.data<T>(),
             positions, p);
    });
  });
}

void global_average_forward(CudaContext& context, Tensor& y, const Tensor& x) {
  const int64_t channels = x.dim(3);
  with_element_type(x.dtype(), "global_average_forward", [&]<class T>(T) {
    by_group<T>(channels, y.raw(), x.raw(), [&]<int N>() {
      const LaunchShape shape{
          .grid = {static_cast<uint32_t>(x.dim(0)), blocks_for(channels, kWarp * N)},
          .block = {kWarp, kLanes}};
      launch(context.queue, &mean_kernel<N, T>, shape, y.data<T>(), x.data<T>(),
             x.dim(1) * x.dim(2), channels);
    });
  });
}

void global_average_backward(CudaContext& context, Tensor& dx, const Tensor& g) {
  const int64_t channels = dx.dim(3);
  with_element_type(g.dtype(), "global_average_backward", [&]<class T>(T) {
    by_group<T>(channels, dx.raw(), g.raw(), [&]<int N>() {
      launch(context.queue, &spread_kernel<N, T>,
             place_shape<N>(dx.dim(0), dx.dim(1), dx.dim(2), channels), dx.data<T>(), g.data<T>(),
             dx.dim(1), dx.dim(2), channels);
    });
  });
}

}  // namespace penstock
