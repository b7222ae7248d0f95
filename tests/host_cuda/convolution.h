// tests/host_cuda/convolution.h -- what cuDNN's three convolution functions compute, on the CPU,
// for the emulation of CUDA (README.md).
#pragma once

#include <array>
#include <cstdint>

#include "tests/host_cuda/element.h"

namespace penstock::host_cuda {

// A tensor with dimensions n, c, h, w (a filter: k, c, h, w) and strides in elements.
struct Tensor4 {
  Element type = Element::Float;
  std::array<int64_t, 4> size{};
  std::array<int64_t, 4> stride{};
  [[nodiscard]] size_t extent() const;  // bytes from the first to behind the last element
  [[nodiscard]] int64_t elements() const { return size[0] * size[1] * size[2] * size[3]; }
};

// How the filter moves over the image.
struct Sliding {
  int64_t pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;
  bool tf32 = false;
};

// The images x, the filter w and what the forward pass makes of them, y, with their data.
struct Convolution4 {
  Tensor4 x, w, y;
  void* x_data = nullptr;
  void* w_data = nullptr;
  void* y_data = nullptr;
  Sliding sliding;
  float alpha = 1, beta = 0;  // a pass writes alpha * result + beta * what was there
};

void convolve_forward(const Convolution4& c);          // y from x and w
void convolve_backward_data(const Convolution4& c);    // x from y and w
void convolve_backward_filter(const Convolution4& c);  // w from x and y

}  // namespace penstock::host_cuda
