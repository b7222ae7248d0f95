// kernels/cuda/image/convolution_way.h -- the ways to compute a convolution on a GPU. ImageOps has
// one ConvolutionWay of each of the functions below, in their order, and uses the first one that
// takes() the shape: the choice follows from shapes alone.
#pragma once

#include <memory>

#include "kernels/cuda/families.h"

namespace penstock {

// Describes one pass of a convolution: what is computed, and the shapes of the images.
struct ConvolutionShape {
  enum class Pass : uint8_t { Forward, BackwardInput, BackwardWeight };
  Pass pass;
  DType type;  // of the images
  Shape x, y;  // [n, h, w, channels], neither of them empty
  Window window;
  int groups;
  [[nodiscard]] int64_t in() const { return x.back(); }
  [[nodiscard]] int64_t out() const { return y.back(); }
};

// One way to compute the convolutions of ImageOps, without bias, for shapes that it takes(). The
// tensors have the shapes of ImageOps; the caller has checked their sizes.
class ConvolutionWay {
 public:
  ConvolutionWay() = default;
  ConvolutionWay(const ConvolutionWay&) = delete;
  ConvolutionWay& operator=(const ConvolutionWay&) = delete;
  virtual ~ConvolutionWay() = default;

  // Whether this way can compute that pass of a convolution of that shape.
  [[nodiscard]] virtual bool takes(const ConvolutionShape& shape) = 0;
  // y and dx are overwritten; dw is added to where `accumulate` is true, else overwritten. g is the
  // gradient of y; dw is fp32 in the layout of the weight's value. Each must be given a shape whose
  // `pass` is that of the function and that takes() accepts.
  virtual void forward(const Tensor& y, const Tensor& x, Weight& w,
                       const ConvolutionShape& shape) = 0;
  virtual void backward_input(const Tensor& dx, const Tensor& g, Weight& w,
                              const ConvolutionShape& shape) = 0;
  virtual void backward_weight(const Tensor& dw, const Tensor& x, const Tensor& g,
                               const ConvolutionShape& shape, bool accumulate) = 0;
};

// The four functions make the ways. The context must outlive them.

// Convolutions with windows of one pixel, stride 1 and one group (is_linear()), as matrix products
// by cuBLASLt whose rows are pixels. On an H100 cuDNN 9.14's convolutions of 128 by 128 channels
// took two to five times as long as the GPU's memory needs to move their tensors
// (bench/gpu/RESULTS.md).
[[nodiscard]] std::unique_ptr<ConvolutionWay> product_convolutions(CudaContext& context);
// Depthwise convolutions (groups equal to the channels) by our own kernels: cuDNN took thirty to
// ninety times as long as the GPU's memory needs.
[[nodiscard]] std::unique_ptr<ConvolutionWay> depthwise_convolutions(CudaContext& context);
// Convolutions by cuDNN, where it has a deterministic algorithm and the padding is the same on both
// sides.
[[nodiscard]] std::unique_ptr<ConvolutionWay> library_convolutions(CudaContext& context);
// Convolutions by their definition, one element at a time: takes everything.
[[nodiscard]] std::unique_ptr<ConvolutionWay> direct_convolutions(CudaContext& context);

}  // namespace penstock
