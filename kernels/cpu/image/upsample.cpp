#include "kernels/cpu/image/upsample.h"

#include <algorithm>

#include "kernels/cpu/loops/maps.h"

namespace penstock {
namespace {

UpsampleAxis rows_of(const Shape& small, const Enlarging& enlarging) {
  return {small[1], enlarging.scale_h, enlarging.kind};
}
UpsampleAxis columns_of(const Shape& small, const Enlarging& enlarging) {
  return {small[2], enlarging.scale_w, enlarging.kind};
}

// Calls body(image, row) for each row of pixels of images [n, height, width, channels].
template <class Body>
void for_each_row(int threads, const Shape& images, const Body& body) {
  share_out(threads, images[0] * images[1], [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) body(row / images[1], row % images[1]);
  });
}

}  // namespace

void upsample_forward(int threads, const Tensor& y, const Tensor& x, const Enlarging& enlarging) {
  const UpsampleAxis rows = rows_of(x.shape(), enlarging);
  const UpsampleAxis columns = columns_of(x.shape(), enlarging);
  const int64_t channels = x.dim(3);
  with_element_type(x.dtype(), "upsampling", [&]<class T>(T) {
    for_each_row(threads, y.shape(), [&](int64_t n, int64_t oy) {
      const UpsampleTap row = rows.tap(oy);
      const T* upper = x.data<T>() + (n * rows.in + row.low) * columns.in * channels;
      const T* lower = x.data<T>() + (n * rows.in + row.high) * columns.in * channels;
      T* to = y.data<T>() + (n * rows.out() + oy) * columns.out() * channels;
      for (int64_t ox = 0; ox < columns.out(); ++ox, to += channels) {
        const UpsampleTap column = columns.tap(ox);
        const int64_t left = column.low * channels;
        const int64_t right = column.high * channels;
        if (enlarging.kind == Upsample::Nearest) {
          std::copy_n(upper + left, channels, to);
          continue;
        }
        const float a = (1.0F - row.share) * (1.0F - column.share);
        const float b = (1.0F - row.share) * column.share;
        const float c = row.share * (1.0F - column.share);
        const float d = row.share * column.share;
        for (int64_t i = 0; i < channels; ++i) {
          to[i] =
              T(a * static_cast<float>(upper[left + i]) + b * static_cast<float>(upper[right + i]) +
                c * static_cast<float>(lower[left + i]) + d * static_cast<float>(lower[right + i]));
        }
      }
    });
  });
}

// Each pixel of dx gathers what the pixels of y that it is in pass back, in ascending order.
void upsample_backward(int threads, const Tensor& dx, const Tensor& g, const Enlarging& enlarging) {
  const UpsampleAxis rows = rows_of(dx.shape(), enlarging);
  const UpsampleAxis columns = columns_of(dx.shape(), enlarging);
  const int64_t channels = dx.dim(3);
  constexpr int64_t kPiece = 1024;  // channels that are summed at a time
  const int64_t pieces = (channels + kPiece - 1) / kPiece;
  with_element_type(g.dtype(), "upsampling", [&]<class T>(T) {
    for_each_row(threads, dx.shape(), [&](int64_t n, int64_t iy) {
      alignas(64) float sum[kPiece];
      for (int64_t i = 0; i < columns.in * pieces; ++i) {
        const int64_t ix = i / pieces;
        const int64_t begin = i % pieces * kPiece;
        const int64_t count = std::min(kPiece, channels - begin);
        std::fill_n(sum, count, 0.0F);
        for (int64_t oy = rows.first(iy); oy < rows.last(iy); ++oy) {
          const float of_row = rows.tap(oy).of(iy);
          if (of_row == 0.0F) continue;
          const T* from = g.data<T>() + (n * rows.out() + oy) * columns.out() * channels + begin;
          for (int64_t ox = columns.first(ix); ox < columns.last(ix); ++ox) {
            const float share = of_row * columns.tap(ox).of(ix);
            if (share == 0.0F) continue;
            map_row(sum, sum, from + ox * channels, count,
                    [share](float s, float gi) { return s + share * gi; });
          }
        }
        T* to = dx.data<T>() + ((n * rows.in + iy) * columns.in + ix) * channels + begin;
        map_row(to, sum, count, [](float s) { return s; });
      }
    });
  });
}

}  // namespace penstock
