// kernels/cuda/image/product_convolution.cpp -- a convolution with windows of one pixel is the
// product of its pixels, [n h w, in], with its filter, [out, in].
#include "kernels/cuda/dense/cublaslt.h"
#include "kernels/cuda/image/convolution_way.h"
#include "kernels/cuda/image/filter_layout.h"

namespace penstock {
namespace {

class ProductConvolutions final : public ConvolutionWay {
 public:
  explicit ProductConvolutions(CudaContext& context) : context_(context), library_(context) {}

  bool takes(const ConvolutionShape& shape) override {
    return is_linear(shape.window, shape.groups);
  }
  void forward(const Tensor& y, const Tensor& x, Weight& w,
               const ConvolutionShape& shape) override {
    const Tensor filter = packed_filter(context_, w, shape.type);
    library_.multiply(product_of(shape, false), {.c = y.raw(), .a = x.raw(), .b = filter.raw()});
  }
  void backward_input(const Tensor& dx, const Tensor& g, Weight& w,
                      const ConvolutionShape& shape) override {
    const Tensor filter = packed_filter(context_, w, shape.type);
    library_.multiply(product_of(shape, false), {.c = dx.raw(), .a = g.raw(), .b = filter.raw()});
  }
  void backward_weight(const Tensor& dw, const Tensor& x, const Tensor& g,
                       const ConvolutionShape& shape, bool accumulate) override {
    library_.multiply(product_of(shape, accumulate), {.c = dw.raw(), .a = g.raw(), .b = x.raw()});
  }

 private:
  static Product product_of(const ConvolutionShape& shape, bool accumulate) {
    const int64_t pixels = shape.x.rows();
    Product product{.operand_type = shape.type, .result_type = shape.type};
    switch (shape.pass) {
      case ConvolutionShape::Pass::Forward:
        product.m = pixels, product.n = shape.out(), product.k = shape.in();
        product.transpose_b = true;
        break;
      case ConvolutionShape::Pass::BackwardInput:
        product.m = pixels, product.n = shape.in(), product.k = shape.out();
        break;
      case ConvolutionShape::Pass::BackwardWeight:
        product.m = shape.out(), product.n = shape.in(), product.k = pixels;
        product.transpose_a = true;
        product.result_type = DType::F32;
        product.accumulate = accumulate;
        break;
    }
    return product;
  }

  CudaContext& context_;
  CublasLt library_;
};

}  // namespace

std::unique_ptr<ConvolutionWay> product_convolutions(CudaContext& context) {
  return std::make_unique<ProductConvolutions>(context);
}

}  // namespace penstock
