#include "tests/host_cuda/convolution.h"

#include <vector>

namespace penstock::host_cuda {
namespace {

// The values as floats, in the order n, h, w, c.
std::vector<float> unpacked_tensor(const Tensor4& t, const void* data, bool tf32) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(t.elements()));
  for (int64_t n = 0; n < t.size[0]; ++n) {
    for (int64_t h = 0; h < t.size[2]; ++h) {
      for (int64_t w = 0; w < t.size[3]; ++w) {
        const int64_t at = n * t.stride[0] + h * t.stride[2] + w * t.stride[3];
        for (int64_t c = 0; c < t.size[1]; ++c) {
          const float value = load(t.type, data, at + c * t.stride[1]);
          values.push_back(tf32 ? as_tf32(value) : value);
        }
      }
    }
  }
  return values;
}

void pack(const Tensor4& t, void* data, const std::vector<float>& values, float alpha, float beta) {
  const float* value = values.data();
  for (int64_t n = 0; n < t.size[0]; ++n) {
    for (int64_t h = 0; h < t.size[2]; ++h) {
      for (int64_t w = 0; w < t.size[3]; ++w) {
        const int64_t at = n * t.stride[0] + h * t.stride[2] + w * t.stride[3];
        for (int64_t c = 0; c < t.size[1]; ++c) {
          const int64_t i = at + c * t.stride[1];
          const float before = beta == 0 ? 0 : beta * load(t.type, data, i);
          store(t.type, data, i, alpha * *value++ + before);
        }
      }
    }
  }
}

// Calls use(first x, first w, first y) for each pixel of y, place in the filter and group; the
// channels of a pixel, and the input channels of a filter, lie one after another from there.
template <class Use>
void slide(const Convolution4& c, const Use& use) {
  const Sliding& s = c.sliding;
  const int64_t height = c.x.size[2], width = c.x.size[3];
  const int64_t in = c.w.size[1], out = c.y.size[1] / s.groups;  // of a group
  for (int64_t n = 0; n < c.y.size[0]; ++n) {
    for (int64_t oh = 0; oh < c.y.size[2]; ++oh) {
      for (int64_t ow = 0; ow < c.y.size[3]; ++ow) {
        const int64_t y = ((n * c.y.size[2] + oh) * c.y.size[3] + ow) * c.y.size[1];
        for (int64_t kh = 0; kh < c.w.size[2]; ++kh) {
          const int64_t h = oh * s.stride_h - s.pad_h + kh * s.dilation_h;
          if (h < 0 || h >= height) continue;
          for (int64_t kw = 0; kw < c.w.size[3]; ++kw) {
            const int64_t w = ow * s.stride_w - s.pad_w + kw * s.dilation_w;
            if (w < 0 || w >= width) continue;
            const int64_t x = ((n * height + h) * width + w) * c.x.size[1];
            const int64_t place = (kh * c.w.size[3] + kw) * in;
            for (int64_t g = 0; g < s.groups; ++g) use(x + g * in, place, g, y + g * out);
          }
        }
      }
    }
  }
}

struct Sizes {
  int64_t in, out, filter;  // channels of a group; elements of one output channel's filter
  explicit Sizes(const Convolution4& c)
      : in(c.w.size[1]),
        out(c.y.size[1] / c.sliding.groups),
        filter(c.w.size[1] * c.w.size[2] * c.w.size[3]) {}
};

}  // namespace

size_t Tensor4::extent() const {
  int64_t last = 0;
  for (size_t d = 0; d < 4; ++d) last += (size[d] - 1) * stride[d];
  return static_cast<size_t>(last + 1) * size_of(type);
}

void convolve_forward(const Convolution4& c) {
  const Sizes s(c);
  const std::vector<float> x = unpacked_tensor(c.x, c.x_data, c.sliding.tf32);
  const std::vector<float> w = unpacked_tensor(c.w, c.w_data, c.sliding.tf32);
  // The filter with its output channels last: the innermost loop runs along them.
  std::vector<float> turned(w.size());
  const int64_t all_out = c.w.size[0];
  for (int64_t o = 0; o < all_out; ++o) {
    for (int64_t f = 0; f < s.filter; ++f) {
      turned[static_cast<size_t>(f * all_out + o)] = w[static_cast<size_t>(o * s.filter + f)];
    }
  }
  std::vector<float> y(static_cast<size_t>(c.y.elements()));
  slide(c, [&](int64_t x_at, int64_t place, int64_t group, int64_t y_at) {
    float* const sum = y.data() + y_at;
    for (int64_t i = 0; i < s.in; ++i) {
      const float value = x[static_cast<size_t>(x_at + i)];
      const float* const weights = turned.data() + (place + i) * all_out + group * s.out;
      for (int64_t o = 0; o < s.out; ++o) sum[o] += value * weights[o];
    }
  });
  pack(c.y, c.y_data, y, c.alpha, c.beta);
}

void convolve_backward_data(const Convolution4& c) {
  const Sizes s(c);
  const std::vector<float> y = unpacked_tensor(c.y, c.y_data, c.sliding.tf32);
  const std::vector<float> w = unpacked_tensor(c.w, c.w_data, c.sliding.tf32);
  std::vector<float> x(static_cast<size_t>(c.x.elements()));
  slide(c, [&](int64_t x_at, int64_t place, int64_t group, int64_t y_at) {
    float* const sum = x.data() + x_at;
    for (int64_t o = 0; o < s.out; ++o) {
      const float value = y[static_cast<size_t>(y_at + o)];
      const float* const weights = w.data() + (group * s.out + o) * s.filter + place;
      for (int64_t i = 0; i < s.in; ++i) sum[i] += value * weights[i];
    }
  });
  pack(c.x, c.x_data, x, c.alpha, c.beta);
}

void convolve_backward_filter(const Convolution4& c) {
  const Sizes s(c);
  const std::vector<float> x = unpacked_tensor(c.x, c.x_data, c.sliding.tf32);
  const std::vector<float> y = unpacked_tensor(c.y, c.y_data, c.sliding.tf32);
  std::vector<float> w(static_cast<size_t>(c.w.elements()));
  slide(c, [&](int64_t x_at, int64_t place, int64_t group, int64_t y_at) {
    const float* const values = x.data() + x_at;
    for (int64_t o = 0; o < s.out; ++o) {
      const float gradient = y[static_cast<size_t>(y_at + o)];
      float* const sum = w.data() + (group * s.out + o) * s.filter + place;
      for (int64_t i = 0; i < s.in; ++i) sum[i] += gradient * values[i];
    }
  });
  pack(c.w, c.w_data, w, c.alpha, c.beta);
}

}  // namespace penstock::host_cuda
