// kernels/ops/window.cpp -- the arithmetic of sliding windows and of enlarging, the same for every
// device.
#include "kernels/ops/image.h"

namespace penstock {
namespace {

// One axis of an image and the window that slides along it.
struct Slide {
  const char* name;
  int64_t in;
  int kernel, stride, before, after;
};

// Returns what is wrong with it, or null.
const char* fault_of(const Slide& slide) {
  if (slide.kernel < 1 || slide.stride < 1 || slide.before < 0 || slide.after < 0) {
    return "kernel and stride must be at least 1, padding at least 0";
  }
  // Padding has to be smaller than the kernel. Then every window sees a part of the image, and an
  // average over it has something to count.
  if (slide.before >= slide.kernel || slide.after >= slide.kernel) {
    return "padding must be smaller than the kernel";
  }
  if (slide.in + slide.before + slide.after < slide.kernel) {
    return "the window is larger than the padded image; use a smaller kernel, less striding before "
           "it, or larger images";
  }
  return nullptr;
}

// The text of a refusal is made here alone, since every convolution of a step asks for its output.
[[noreturn]] void refuse(const Shape& input, const Window& w, const Slide& slide) {
  fail_input("window " + std::to_string(w.kernel_h) + " x " + std::to_string(w.kernel_w) +
             " over images " + std::to_string(input[1]) + " high and " + std::to_string(input[2]) +
             " wide, " + slide.name + ": " + fault_of(slide));
}

}  // namespace

Shape window_output(const Shape& input, const Window& w, int64_t channels) {
  if (input.rank() != 4) {
    fail_input("a window needs images [n, height, width, channels], not " + input.text());
  }
  const auto extent = [&](const Slide& slide) {
    if (fault_of(slide) != nullptr) refuse(input, w, slide);
    return (slide.in + slide.before + slide.after - slide.kernel) / slide.stride + 1;
  };
  return {input[0], extent({"height", input[1], w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom}),
          extent({"width", input[2], w.kernel_w, w.stride_w, w.pad_left, w.pad_right}), channels};
}

Shape enlarged_shape(const Shape& input, const Enlarging& enlarging) {
  if (input.rank() != 4) fail_input("only images can be enlarged, not " + input.text());
  if (enlarging.scale_h < 1 || enlarging.scale_w < 1) fail_input("a scale must be at least 1");
  return {input[0], input[1] * enlarging.scale_h, input[2] * enlarging.scale_w, input[3]};
}

}  // namespace penstock
