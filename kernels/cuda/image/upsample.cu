// kernels/cuda/image/upsample.cu -- enlarging of channels-last images. A thread owns neighbouring
// channels of a pixel and gathers what it is made of, in ascending order: forward and backward
// repeat to the bit. Bound by memory; what neighbours read again comes from the caches.
#include "kernels/checks.h"
#include "kernels/cuda/image/pixel_threads.h"
#include "kernels/cuda/image/upsample.h"

namespace penstock {
namespace {

struct Axes {
  UpsampleAxis rows, columns;
  int64_t channels;

  [[nodiscard]] __device__ int64_t small(int64_t image, int64_t y, int64_t x) const {
    return ((image * rows.in + y) * columns.in + x) * channels;
  }
  [[nodiscard]] __device__ int64_t large(int64_t image, int64_t y, int64_t x) const {
    return ((image * rows.out() + y) * columns.out() + x) * channels;
  }
};

template <int N, class T>
__global__ void __launch_bounds__(kPixelThreads) enlarge_kernel(T* y, const T* x, Axes axes) {
  const Place at = place_of_thread<N>(static_cast<int>(axes.rows.out()),
                                      static_cast<int>(axes.columns.out()), axes.channels);
  if (!at.inside) return;
  const UpsampleTap row = axes.rows.tap(at.y);
  const UpsampleTap column = axes.columns.tap(at.x);
  const auto pixel = [&](int64_t iy, int64_t ix) {
    return load<N>(x + axes.small(at.image, iy, ix) + at.channel);
  };
  Floats<N> sum = pixel(row.low, column.low);
  if (axes.rows.kind != Upsample::Nearest) {
    const Floats<N> b = pixel(row.low, column.high);
    const Floats<N> c = pixel(row.high, column.low);
    const Floats<N> d = pixel(row.high, column.high);
    for (int k = 0; k < N; ++k) {
      sum[k] = (1.0F - row.share) * (1.0F - column.share) * sum[k] +
               (1.0F - row.share) * column.share * b[k] + row.share * (1.0F - column.share) * c[k] +
               row.share * column.share * d[k];
    }
  }
  store<N>(y + axes.large(at.image, at.y, at.x) + at.channel, sum);
}

template <int N, class T>
__global__ void __launch_bounds__(kPixelThreads)
    enlarge_backward_kernel(T* dx, const T* g, Axes axes) {
  const Place at = place_of_thread<N>(static_cast<int>(axes.rows.in),
                                      static_cast<int>(axes.columns.in), axes.channels);
  if (!at.inside) return;
  Floats<N> sum{};
  for (int64_t oy = axes.rows.first(at.y); oy < axes.rows.last(at.y); ++oy) {
    const float of_row = axes.rows.tap(oy).of(at.y);
    if (of_row == 0.0F) continue;
    for (int64_t ox = axes.columns.first(at.x); ox < axes.columns.last(at.x); ++ox) {
      const float share = of_row * axes.columns.tap(ox).of(at.x);
      if (share == 0.0F) continue;
      const Floats<N> gradient = load<N>(g + axes.large(at.image, oy, ox) + at.channel);
      for (int k = 0; k < N; ++k) sum[k] += share * gradient[k];
    }
  }
  store<N>(dx + axes.small(at.image, at.y, at.x) + at.channel, sum);
}

Axes axes_of(const Tensor& small, const Enlarging& enlarging) {
  return {{small.dim(1), enlarging.scale_h, enlarging.kind},
          {small.dim(2), enlarging.scale_w, enlarging.kind},
          small.dim(3)};
}

}  // namespace

void upsample_forward(CudaContext& context, Tensor& y, const Tensor& x,
                      const Enlarging& enlarging) {
  const Axes axes = axes_of(x, enlarging);
  with_element_type(x.dtype(), "upsample2d_forward", [&]<class T>(T) {
    by_group<T>(axes.channels, y.raw(), x.raw(), [&]<int N>() {
      launch(context.queue, &enlarge_kernel<N, T>,
             place_shape<N>(y.dim(0), y.dim(1), y.dim(2), axes.channels), y.data<T>(), x.data<T>(),
             axes);
    });
  });
}

void upsample_backward(CudaContext& context, Tensor& dx, const Tensor& g,
                       const Enlarging& enlarging) {
  const Axes axes = axes_of(dx, enlarging);
  with_element_type(g.dtype(), "upsample2d_backward", [&]<class T>(T) {
    by_group<T>(axes.channels, dx.raw(), g.raw(), [&]<int N>() {
      launch(context.queue, &enlarge_backward_kernel<N, T>,
             place_shape<N>(dx.dim(0), dx.dim(1), dx.dim(2), axes.channels), dx.data<T>(),
             g.data<T>(), axes);
    });
  });
}

}  // namespace penstock
