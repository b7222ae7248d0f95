// kernels/ops/window.cpp -- the arithmetic of sliding windows and of enlarging, the same for every
// device.
#include "kernels/ops/image.h"

namespace penstock {
namespace {

int64_t extent(int64_t in, int kernel, int stride, int before, int after, const std::string& what) {
  if (kernel < 1 || stride < 1 || before < 0 || after < 0) {
    fail_input(what + ": kernel and stride must be at least 1, padding at least 0");
  }
  // Padding has to be smaller than the kernel. Then every window sees a part of the image, and an
  // average over it has something to count.
  if (before >= kernel || after >= kernel) {
    fail_input(what + ": padding must be smaller than the kernel");
  }
  const int64_t padded = in + before + after;
  if (padded < kernel) {
    fail_input(what + ": the window is larger than the padded image; use a smaller kernel, less " +
               "striding before it, or larger images");
  }
  return (padded - kernel) / stride + 1;
}

}  // namespace

Shape window_output(const Shape& input, const Window& w, int64_t channels) {
  if (input.rank() != 4) {
    fail_input("a window needs images [n, height, width, channels], not " + input.text());
  }
  const std::string what = "window " + std::to_string(w.kernel_h) + " x " +
                           std::to_string(w.kernel_w) + " over images " + std::to_string(input[1]) +
                           " high and " + std::to_string(input[2]) + " wide";
  return {input[0],
          extent(input[1], w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, what + ", height"),
          extent(input[2], w.kernel_w, w.stride_w, w.pad_left, w.pad_right, what + ", width"),
          channels};
}

Shape enlarged_shape(const Shape& input, const Enlarging& enlarging) {
  if (input.rank() != 4) fail_input("only images can be enlarged, not " + input.text());
  if (enlarging.scale_h < 1 || enlarging.scale_w < 1) fail_input("a scale must be at least 1");
  return {input[0], input[1] * enlarging.scale_h, input[2] * enlarging.scale_w, input[3]};
}

}  // namespace penstock
