#include "kernels/cpu/image/pool.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/cpu/loops/lanes.h"
#include "kernels/cpu/loops/loops.h"

namespace penstock {
namespace {

// Holds the positions [first, last) along one axis.
struct Range {
  int64_t first, last;
  [[nodiscard]] int64_t size() const { return last - first; }
};

// Returns at / stride. A division takes longer than the work on a vector of a pixel, so it is
// avoided for strides of 1 and 2.
int64_t quotient(int64_t at, int stride) {
  return stride == 1 ? at : stride == 2 ? at >> 1 : at / stride;
}

// One axis of the images, and of the window that slides along it.
struct SlidAxis {
  int64_t extent, windows;
  int kernel, stride, before;  // before: padding

  // Returns the positions under a window.
  [[nodiscard]] Range under(int64_t window) const {
    const int64_t start = window * stride - before;
    return {std::max<int64_t>(start, 0), std::min(start + kernel, extent)};
  }
  // Returns the windows over a position.
  [[nodiscard]] Range over(int64_t position) const {
    const int64_t past = position + before - kernel + 1;  // the first window starts here or later
    return {past <= 0 ? 0 : quotient(past + stride - 1, stride),
            std::min(quotient(position + before, stride) + 1, windows)};
  }
  // Returns where in the window a position lies.
  [[nodiscard]] int64_t inside(int64_t position, int64_t window) const {
    return position + before - window * stride;
  }
};

// These hold the running values of the channels that are worked on at a time, in registers. There
// are N times kLanes such channels. N = 0 means that the image has fewer than kLanes channels, and
// all are worked on.
template <int N>
using Floats = std::array<FloatLanes, std::max(N, 1)>;
template <int N>
using Ints = std::array<IntLanes, std::max(N, 1)>;

// Describes one pooling; T is the element type of both images.
template <class T>
struct Pooling {
  SlidAxis vertical, horizontal;
  int64_t channels;

  Pooling(const Tensor& x, const Tensor& y, const Window& w)
      : vertical{x.dim(1), y.dim(1), w.kernel_h, w.stride_h, w.pad_top},
        horizontal{x.dim(2), y.dim(2), w.kernel_w, w.stride_w, w.pad_left},
        channels(x.dim(3)) {}

  // Returns the position of image element (y, x) inside window (oy, ox), counted row by row.
  [[nodiscard]] int32_t position(int64_t y, int64_t x, int64_t oy, int64_t ox) const {
    return static_cast<int32_t>(vertical.inside(y, oy) * horizontal.kernel +
                                horizontal.inside(x, ox));
  }

  // load() reads vector `v` of the channels at `from`; store() writes all vectors of `lanes` to
  // `to`. If N is 0, there is one vector, of fewer than kLanes channels.
  template <int N, class E>
  [[nodiscard, gnu::always_inline]] auto load(const E* from, size_t v) const {
    return load_lanes(from + v * kLanes, N > 0 ? kLanes : channels);
  }
  template <int N, class E, class L>
  void store(E* to, const std::array<L, std::max(N, 1)>& lanes) const {
    for (size_t v = 0; v < lanes.size(); ++v) {
      store_lanes(to + v * kLanes, lanes[v], N > 0 ? kLanes : channels);
    }
  }

  // Writes the maximum of window (oy, ox) to y, and its position to `chosen`, which may be null.
  // `image` is one image. All three point at the first of the channels to work on.
  template <int N>
  void maximum(T* y, int32_t* chosen, const T* image, int64_t oy, int64_t ox) const {
    Floats<N> best;
    Ints<N> at;
    const Range rows = vertical.under(oy);
    const Range columns = horizontal.under(ox);
    best.fill(FloatLanes{} - std::numeric_limits<float>::infinity());
    at.fill(IntLanes{} + position(rows.first, columns.first, oy, ox));
    for (int64_t iy = rows.first; iy < rows.last; ++iy) {
      for (int64_t ix = columns.first; ix < columns.last; ++ix) {
        const T* x = image + (iy * horizontal.extent + ix) * channels;
        const IntLanes here = IntLanes{} + position(iy, ix, oy, ox);
        for (size_t v = 0; v < best.size(); ++v) {
          const FloatLanes value = load<N>(x, v);
          const IntLanes better = (value > best[v]) | nan_lanes(value);  // once taken, a NaN stays
          best[v] = better ? value : best[v];
          at[v] = better ? here : at[v];
        }
      }
    }
    store<N>(y, best);
    if (chosen != nullptr) store<N>(chosen, at);
  }

  template <int N>
  void average(T* y, const T* image, int64_t oy, int64_t ox) const {
    Floats<N> sum{};
    const Range rows = vertical.under(oy);
    const Range columns = horizontal.under(ox);
    for (int64_t iy = rows.first; iy < rows.last; ++iy) {
      for (int64_t ix = columns.first; ix < columns.last; ++ix) {
        const T* x = image + (iy * horizontal.extent + ix) * channels;
        for (size_t v = 0; v < sum.size(); ++v) sum[v] += load<N>(x, v);
      }
    }
    const float share = 1.0F / static_cast<float>(rows.size() * columns.size());
    for (FloatLanes& lanes : sum) lanes *= share;
    store<N>(y, sum);
  }

  // Writes the gradient of image element (y, x): the sum of what every window over it passes back,
  // in ascending order of windows. g and `chosen` point at the first of the channels to work on, in
  // one image.
  template <int N>
  void gather_maximum(T* dx, const T* g, const int32_t* chosen, int64_t y, int64_t x) const {
    Floats<N> sum{};
    const Range rows = vertical.over(y);
    const Range columns = horizontal.over(x);
    for (int64_t oy = rows.first; oy < rows.last; ++oy) {
      for (int64_t ox = columns.first; ox < columns.last; ++ox) {
        const int64_t at = (oy * horizontal.windows + ox) * channels;
        const IntLanes here = IntLanes{} + position(y, x, oy, ox);
        for (size_t v = 0; v < sum.size(); ++v) {
          const FloatLanes gradient = load<N>(g + at, v);
          sum[v] += load<N>(chosen + at, v) == here ? gradient : FloatLanes{};
        }
      }
    }
    store<N>(dx, sum);
  }

  template <int N>
  void gather_average(T* dx, const T* g, int64_t y, int64_t x) const {
    Floats<N> sum{};
    const Range rows = vertical.over(y);
    const Range columns = horizontal.over(x);
    for (int64_t oy = rows.first; oy < rows.last; ++oy) {
      for (int64_t ox = columns.first; ox < columns.last; ++ox) {
        const T* from = g + (oy * horizontal.windows + ox) * channels;
        const float share =
            1.0F / static_cast<float>(vertical.under(oy).size() * horizontal.under(ox).size());
        for (size_t v = 0; v < sum.size(); ++v) sum[v] += share * load<N>(from, v);
      }
    }
    store<N>(dx, sum);
  }
};

// Calls body<N>(first channel) until all channels are done. The last kLanes channels can overlap
// those of the call before. So `body` must not add to memory: some channels would count twice.
template <class Body>
void for_each_lanes(int64_t channels, Body body) {
  if (channels < kLanes) return body.template operator()<0>(0);
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) body.template operator()<4>(c);
  for (; c + 2 * kLanes <= channels; c += 2 * kLanes) body.template operator()<2>(c);
  for (; c < channels; c += kLanes) {
    body.template operator()<1>(std::min(c, channels - kLanes));
  }
}

// Calls body<N>(image, row, column, first channel, index of its element) for all pixels and
// channels of images [n, h, w, c]. Some channels can be visited twice, as in for_each_lanes().
template <class Body>
void for_each_pixel(int threads, const Shape& images, Body body) {
  share_out(threads, images[0] * images[1], [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t n = row / images[1];
      const int64_t y = row % images[1];
      for (int64_t x = 0; x < images[2]; ++x) {
        const int64_t pixel = (row * images[2] + x) * images[3];
        for_each_lanes(images[3], [&]<int N>(int64_t c) {
          body.template operator()<N>(n, y, x, c, pixel + c);
        });
      }
    }
  });
}

}  // namespace

void pool_forward(int threads, const Tensor& y, const Tensor* chosen, const Tensor& x,
                  const Window& window, Pool kind) {
  with_element_type(x.dtype(), "pooling", [&]<class T>(T) {
    const Pooling<T> pooling(x, y, window);
    const int64_t image = x.dim(1) * x.dim(2) * x.dim(3);
    const T* from = x.data<T>();
    T* to = y.data<T>();
    int32_t* at = chosen != nullptr ? chosen->data<int32_t>() : nullptr;
    for_each_pixel(
        threads, y.shape(), [&]<int N>(int64_t n, int64_t oy, int64_t ox, int64_t c, int64_t i) {
          const T* seen = from + n * image + c;
          if (kind == Pool::Max) {
            pooling.template maximum<N>(to + i, at != nullptr ? at + i : nullptr, seen, oy, ox);
          } else {
            pooling.template average<N>(to + i, seen, oy, ox);
          }
        });
  });
}

void pool_backward(int threads, const Tensor& dx, const Tensor& g, const Tensor* chosen,
                   const Window& window, Pool kind) {
  with_element_type(g.dtype(), "pooling", [&]<class T>(T) {
    const Pooling<T> pooling(dx, g, window);
    const int64_t image = g.dim(1) * g.dim(2) * g.dim(3);
    const T* from = g.data<T>();
    T* to = dx.data<T>();
    const int32_t* at = kind == Pool::Max ? chosen->data<int32_t>() : nullptr;
    for_each_pixel(threads, dx.shape(),
                   [&]<int N>(int64_t n, int64_t y, int64_t x, int64_t c, int64_t i) {
                     const int64_t first = n * image + c;
                     if (kind == Pool::Max) {
                       pooling.template gather_maximum<N>(to + i, from + first, at + first, y, x);
                     } else {
                       pooling.template gather_average<N>(to + i, from + first, y, x);
                     }
                   });
  });
}

void global_average_forward(int threads, const Tensor& y, const Tensor& x) {
  const int64_t pixels = x.dim(1) * x.dim(2);
  const int64_t channels = x.dim(3);
  const float share = 1.0F / static_cast<float>(pixels);
  constexpr int64_t kBlock = 4 * kLanes;  // channels of a task; so threads share even one image
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
  with_element_type(x.dtype(), "pooling", [&]<class T>(T) {
    const auto average = [=, from = x.data<T>(), to = y.data<T>()](int64_t n, int64_t first) {
      const int64_t here = std::min(kBlock, channels - first);
      for_each_lanes(here, [&]<int N>(int64_t c) {
        const int64_t count = N > 0 ? kLanes : here;
        Floats<N> sum{};
        for (int64_t p = 0; p < pixels; ++p) {
          const T* pixel = from + (n * pixels + p) * channels + first + c;
          for (size_t v = 0; v < sum.size(); ++v) sum[v] += load_lanes(pixel + v * kLanes, count);
        }
        for (size_t v = 0; v < sum.size(); ++v) {
          store_lanes(to + n * channels + first + c + v * kLanes, sum[v] * share, count);
        }
      });
    };
    share_out(threads, x.dim(0) * blocks, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) average(i / blocks, i % blocks * kBlock);
    });
  });
}

void global_average_backward(int threads, const Tensor& dx, const Tensor& g) {
  const int64_t pixels = dx.dim(1) * dx.dim(2);
  const int64_t channels = dx.dim(3);
  const float share = 1.0F / static_cast<float>(pixels);
  with_element_type(g.dtype(), "pooling", [&]<class T>(T) {
    share_out(threads, dx.dim(0) * pixels,
              [=, from = g.data<T>(), to = dx.data<T>()](int64_t first, int64_t last) {
                for (int64_t p = first; p < last; ++p) {
                  const T* gradient = from + p / pixels * channels;
                  for (int64_t c = 0; c < channels; ++c) {
                    to[p * channels + c] = T(share * static_cast<float>(gradient[c]));
                  }
                }
              });
  });
}

}  // namespace penstock
