// kernels/cuda/image/library_convolution.cpp -- convolutions turned into cuDNN's.
#include <limits>

#include "kernels/cuda/image/convolution_way.h"
#include "kernels/cuda/image/cudnn_convolution.h"
#include "kernels/cuda/image/filter_layout.h"

namespace penstock {
namespace {

Convolution convolution_of(const ConvolutionShape& shape) {
  const auto extent = [](const Shape& image, int axis) { return static_cast<int>(image[axis]); };
  const Window& window = shape.window;
  return {.pass = shape.pass,
          .type = shape.type,
          .n = extent(shape.x, 0),
          .height = extent(shape.x, 1),
          .width = extent(shape.x, 2),
          .in = extent(shape.x, 3),
          .out_height = extent(shape.y, 1),
          .out_width = extent(shape.y, 2),
          .out = extent(shape.y, 3),
          .kernel_h = window.kernel_h,
          .kernel_w = window.kernel_w,
          .stride_h = window.stride_h,
          .stride_w = window.stride_w,
          .pad_h = window.pad_top,
          .pad_w = window.pad_left,
          .groups = shape.groups};
}

// Refuses tensors with more elements than cuDNN's 4-d descriptors take. Our own kernel would take
// hours for so many.
void require_few_elements(const ConvolutionShape& shape) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (shape.x.elements() <= kMost && shape.y.elements() <= kMost) return;
  fail_input("a convolution from " + shape.x.text() + " to " + shape.y.text() +
             " has more elements than cuDNN takes in one tensor, " + std::to_string(kMost) +
             ": make pipeline.micro_batch_size smaller");
}

// Convolves with cuDNN, but without its fused bias and activation. To fuse them would gain little:
// most convolutions are followed by a batch norm. And whether cuDNN takes a combination of these is
// not known before it runs.
class LibraryConvolutions final : public ConvolutionWay {
 public:
  explicit LibraryConvolutions(CudaContext& context) : context_(context), library_(context) {}

  bool takes(const ConvolutionShape& shape) override {
    const Window& window = shape.window;
    const bool symmetric =
        window.pad_top == window.pad_bottom && window.pad_left == window.pad_right;
    if (symmetric) require_few_elements(shape);
    return symmetric && library_.supports(convolution_of(shape));
  }
  void forward(const Tensor& y, const Tensor& x, Weight& w,
               const ConvolutionShape& shape) override {
    const Tensor filter = packed_filter(context_, w, shape.type);
    library_.run(convolution_of(shape), {.x = x.raw(), .w = filter.raw(), .y = y.raw()});
  }
  void backward_input(const Tensor& dx, const Tensor& g, Weight& w,
                      const ConvolutionShape& shape) override {
    const Tensor filter = packed_filter(context_, w, shape.type);
    library_.run(convolution_of(shape), {.x = dx.raw(), .w = filter.raw(), .y = g.raw()});
  }
  void backward_weight(const Tensor& dw, const Tensor& x, const Tensor& g,
                       const ConvolutionShape& shape, bool accumulate) override {
    const Tensor gradient = context_.scratch({dw.elements()}, shape.type);
    library_.run(convolution_of(shape), {.x = x.raw(), .w = gradient.raw(), .y = g.raw()});
    unpack_filter_gradient(context_, dw, gradient, accumulate);
  }

 private:
  CudaContext& context_;
  CudnnConvolutions library_;
};

}  // namespace

std::unique_ptr<ConvolutionWay> library_convolutions(CudaContext& context) {
  return std::make_unique<LibraryConvolutions>(context);
}

}  // namespace penstock
