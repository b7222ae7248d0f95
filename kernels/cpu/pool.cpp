#include "kernels/cpu/pool.h"

#include <algorithm>
#include <array>

#include "kernels/bfloat16.h"

namespace penstock {
namespace {

constexpr int64_t kLanes = 64;  // channels done at a time; their running values stay in registers
using Floats = std::array<float, kLanes>;
using Ints = std::array<int32_t, kLanes>;

// Positions [first, last) along one axis.
struct Range {
  int64_t first, last;
  [[nodiscard]] int64_t size() const { return last - first; }
};

// Of the window at `at`, the part of [0, extent) that it covers.
Range covered(int64_t at, int kernel, int stride, int before, int64_t extent) {
  const int64_t start = at * stride - before;
  return {std::max<int64_t>(start, 0), std::min(start + kernel, extent)};
}

// The windows of [0, windows) that cover position `at`.
Range covering(int64_t at, int kernel, int stride, int before, int64_t windows) {
  const int64_t past = at + before - kernel + 1;  // the first window starts here or later
  return {past <= 0 ? 0 : (past + stride - 1) / stride,
          std::min((at + before) / stride + 1, windows)};
}

// One pooling: T is the element type of both images.
template <class T>
struct Pooling {
  int64_t h, w, channels, out_h, out_w;
  Window window;

  Pooling(const Tensor& x, const Tensor& y, const Window& sliding)
      : h(x.dim(1)),
        w(x.dim(2)),
        channels(x.dim(3)),
        out_h(y.dim(1)),
        out_w(y.dim(2)),
        window(sliding) {}

  [[nodiscard]] Range rows_under(int64_t oy) const {
    return covered(oy, window.kernel_h, window.stride_h, window.pad_top, h);
  }
  [[nodiscard]] Range columns_under(int64_t ox) const {
    return covered(ox, window.kernel_w, window.stride_w, window.pad_left, w);
  }
  [[nodiscard]] Range rows_over(int64_t y) const {
    return covering(y, window.kernel_h, window.stride_h, window.pad_top, out_h);
  }
  [[nodiscard]] Range columns_over(int64_t x) const {
    return covering(x, window.kernel_w, window.stride_w, window.pad_left, out_w);
  }
  // The position of image element (y, x) inside window (oy, ox).
  [[nodiscard]] int32_t position(int64_t y, int64_t x, int64_t oy, int64_t ox) const {
    const int64_t row = y + window.pad_top - oy * window.stride_h;
    const int64_t column = x + window.pad_left - ox * window.stride_w;
    return static_cast<int32_t>(row * window.kernel_w + column);
  }

  // `image` is one image at the first of `lanes` channels; so are y and chosen (may be null).
  void maximum(T* y, int32_t* chosen, const T* image, int64_t oy, int64_t ox, int64_t lanes) const {
    Floats best;
    Ints at;
    const Range rows = rows_under(oy);
    const Range columns = columns_under(ox);
    best.fill(-std::numeric_limits<float>::infinity());
    at.fill(position(rows.first, columns.first, oy, ox));
    for (int64_t iy = rows.first; iy < rows.last; ++iy) {
      for (int64_t ix = columns.first; ix < columns.last; ++ix) {
        const T* x = image + (iy * w + ix) * channels;
        const int32_t here = position(iy, ix, oy, ox);
        for (int64_t c = 0; c < lanes; ++c) {
          const auto i = static_cast<size_t>(c);
          const float value = static_cast<float>(x[c]);
          const bool better = (value > best[i]) | (value != value);  // a NaN stays one
          best[i] = better ? value : best[i];
          at[i] = better ? here : at[i];
        }
      }
    }
    for (int64_t c = 0; c < lanes; ++c) y[c] = T(best[static_cast<size_t>(c)]);
    if (chosen != nullptr) std::copy_n(at.begin(), lanes, chosen);
  }

  void average(T* y, const T* image, int64_t oy, int64_t ox, int64_t lanes) const {
    Floats sum{};
    const Range rows = rows_under(oy);
    const Range columns = columns_under(ox);
    for (int64_t iy = rows.first; iy < rows.last; ++iy) {
      for (int64_t ix = columns.first; ix < columns.last; ++ix) {
        const T* x = image + (iy * w + ix) * channels;
        for (int64_t c = 0; c < lanes; ++c) sum[static_cast<size_t>(c)] += static_cast<float>(x[c]);
      }
    }
    const float share = 1.0F / static_cast<float>(rows.size() * columns.size());
    for (int64_t c = 0; c < lanes; ++c) y[c] = T(sum[static_cast<size_t>(c)] * share);
  }

  // The gradient of image element (y, x): what every window over it passes back, in their order.
  // g and chosen are one image at the first of `lanes` channels.
  void gather_maximum(T* dx, const T* g, const int32_t* chosen, int64_t y, int64_t x,
                      int64_t lanes) const {
    Floats sum{};
    const Range rows = rows_over(y);
    const Range columns = columns_over(x);
    for (int64_t oy = rows.first; oy < rows.last; ++oy) {
      for (int64_t ox = columns.first; ox < columns.last; ++ox) {
        const int64_t at = (oy * out_w + ox) * channels;
        const int32_t here = position(y, x, oy, ox);
        for (int64_t c = 0; c < lanes; ++c) {
          sum[static_cast<size_t>(c)] +=
              chosen[at + c] == here ? static_cast<float>(g[at + c]) : 0.0F;
        }
      }
    }
    for (int64_t c = 0; c < lanes; ++c) dx[c] = T(sum[static_cast<size_t>(c)]);
  }

  void gather_average(T* dx, const T* g, int64_t y, int64_t x, int64_t lanes) const {
    Floats sum{};
    const Range rows = rows_over(y);
    const Range columns = columns_over(x);
    for (int64_t oy = rows.first; oy < rows.last; ++oy) {
      for (int64_t ox = columns.first; ox < columns.last; ++ox) {
        const int64_t at = (oy * out_w + ox) * channels;
        const float share =
            1.0F / static_cast<float>(rows_under(oy).size() * columns_under(ox).size());
        for (int64_t c = 0; c < lanes; ++c) {
          sum[static_cast<size_t>(c)] += share * static_cast<float>(g[at + c]);
        }
      }
    }
    for (int64_t c = 0; c < lanes; ++c) dx[c] = T(sum[static_cast<size_t>(c)]);
  }
};

// Calls body(image, row, column, first channel, channels) over images [n, h, w, c].
template <class Body>
void for_each_pixel(int threads, const Shape& images, Body body) {
  const int64_t channels = images[3];
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads)
  for (int64_t n = 0; n < images[0]; ++n) {
    for (int64_t y = 0; y < images[1]; ++y) {
      for (int64_t x = 0; x < images[2]; ++x) {
        for (int64_t c = 0; c < channels; c += kLanes) {
          body(n, y, x, c, std::min(kLanes, channels - c));
        }
      }
    }
  }
}

template <class T>
void forward(int threads, const Tensor& y, const Tensor* chosen, const Tensor& x,
             const Window& window, Pool kind) {
  const Pooling<T> pooling(x, y, window);
  const int64_t image = pooling.h * pooling.w * pooling.channels;
  const T* from = x.data<T>();
  T* to = y.data<T>();
  int32_t* at = chosen != nullptr ? chosen->data<int32_t>() : nullptr;
  for_each_pixel(
      threads, y.shape(), [&](int64_t n, int64_t oy, int64_t ox, int64_t c, int64_t lanes) {
        const int64_t i = ((n * pooling.out_h + oy) * pooling.out_w + ox) * pooling.channels + c;
        if (kind == Pool::Max) {
          pooling.maximum(to + i, at != nullptr ? at + i : nullptr, from + n * image + c, oy, ox,
                          lanes);
        } else {
          pooling.average(to + i, from + n * image + c, oy, ox, lanes);
        }
      });
}

template <class T>
void backward(int threads, const Tensor& dx, const Tensor& g, const Tensor* chosen,
              const Window& window, Pool kind) {
  const Pooling<T> pooling(dx, g, window);
  const int64_t image = pooling.out_h * pooling.out_w * pooling.channels;
  const T* from = g.data<T>();
  T* to = dx.data<T>();
  const int32_t* at = kind == Pool::Max ? chosen->data<int32_t>() : nullptr;
  for_each_pixel(threads, dx.shape(),
                 [&](int64_t n, int64_t y, int64_t x, int64_t c, int64_t lanes) {
                   const int64_t i = ((n * pooling.h + y) * pooling.w + x) * pooling.channels + c;
                   const int64_t first = n * image + c;
                   if (kind == Pool::Max) {
                     pooling.gather_maximum(to + i, from + first, at + first, y, x, lanes);
                   } else {
                     pooling.gather_average(to + i, from + first, y, x, lanes);
                   }
                 });
}

template <class T>
void mean_forward(int threads, const Tensor& y, const Tensor& x) {
  const int64_t pixels = x.dim(1) * x.dim(2);
  const int64_t channels = x.dim(3);
  const float share = 1.0F / static_cast<float>(pixels);
  const T* from = x.data<T>();
  T* to = y.data<T>();
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads)
  for (int64_t n = 0; n < x.dim(0); ++n) {
    for (int64_t c = 0; c < channels; c += kLanes) {
      const int64_t lanes = std::min(kLanes, channels - c);
      Floats sum{};
      for (int64_t p = 0; p < pixels; ++p) {
        const T* pixel = from + (n * pixels + p) * channels + c;
        for (int64_t i = 0; i < lanes; ++i) {
          sum[static_cast<size_t>(i)] += static_cast<float>(pixel[i]);
        }
      }
      for (int64_t i = 0; i < lanes; ++i) {
        to[n * channels + c + i] = T(sum[static_cast<size_t>(i)] * share);
      }
    }
  }
}

template <class T>
void mean_backward(int threads, const Tensor& dx, const Tensor& g) {
  const int64_t pixels = dx.dim(1) * dx.dim(2);
  const int64_t channels = dx.dim(3);
  const float share = 1.0F / static_cast<float>(pixels);
  const T* from = g.data<T>();
  T* to = dx.data<T>();
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t p = 0; p < dx.dim(0) * pixels; ++p) {
    const T* gradient = from + p / pixels * channels;
    for (int64_t c = 0; c < channels; ++c) {
      to[p * channels + c] = T(share * static_cast<float>(gradient[c]));
    }
  }
}

bool is_bf16(const Tensor& x) {
  return x.dtype() == DType::BF16;
}

}  // namespace

void pool_forward(int threads, const Tensor& y, const Tensor* chosen, const Tensor& x,
                  const Window& window, Pool kind) {
  if (is_bf16(x)) return forward<bfloat16>(threads, y, chosen, x, window, kind);
  forward<float>(threads, y, chosen, x, window, kind);
}

void pool_backward(int threads, const Tensor& dx, const Tensor& g, const Tensor* chosen,
                   const Window& window, Pool kind) {
  if (is_bf16(g)) return backward<bfloat16>(threads, dx, g, chosen, window, kind);
  backward<float>(threads, dx, g, chosen, window, kind);
}

void global_average_forward(int threads, const Tensor& y, const Tensor& x) {
  if (is_bf16(x)) return mean_forward<bfloat16>(threads, y, x);
  mean_forward<float>(threads, y, x);
}

void global_average_backward(int threads, const Tensor& dx, const Tensor& g) {
  if (is_bf16(g)) return mean_backward<bfloat16>(threads, dx, g);
  mean_backward<float>(threads, dx, g);
}

}  // namespace penstock
