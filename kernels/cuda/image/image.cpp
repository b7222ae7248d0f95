// kernels/cuda/image/image.cpp -- convolutions, each in the way that suits it, pooling and
// enlarging, after their checks.
#include <algorithm>

#include "kernels/checks.h"
#include "kernels/cuda/dense/bias_function.h"
#include "kernels/cuda/image/convolution_way.h"
#include "kernels/cuda/image/pool.h"
#include "kernels/cuda/image/upsample.h"
#include "kernels/ops/product_shape.h"

namespace penstock {
namespace {

using Pass = ConvolutionShape::Pass;

class CudaImage final : public ImageOps {
 public:
  explicit CudaImage(CudaContext& context)
      : context_(context), pointwise_(cuda_pointwise_ops(context)) {
    ways_.push_back(product_convolutions(context));
    ways_.push_back(depthwise_convolutions(context));
    ways_.push_back(library_convolutions(context));
    ways_.push_back(direct_convolutions(context));
  }

  void conv2d_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias,
                      const Window& window, int groups, Fused f) override {
    check_convolution(x, y, w.value(), window, groups);
    require_bias("convolution forward", bias, y.shape().back());
    if (y.elements() == 0) return;
    const ConvolutionShape shape{Pass::Forward, x.dtype(), x.shape(), y.shape(), window, groups};
    way_of(shape).forward(y, x, w, shape);
    apply_bias_function(context_, y, bias, f);
  }

  void conv2d_backward_input(Tensor& dx, const Tensor& g, Weight& w, const Window& window,
                             int groups) override {
    check_convolution(dx, g, w.value(), window, groups);
    if (dx.elements() == 0) return;
    const ConvolutionShape shape{Pass::BackwardInput, g.dtype(), dx.shape(),
                                 g.shape(),           window,    groups};
    way_of(shape).backward_input(dx, g, w, shape);
  }

  void conv2d_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                              const Window& window, int groups, bool accumulate) override {
    check_convolution(x, g, dw, window, groups);
    require_bias("convolution backward weight", dbias, g.shape().back());
    if (g.elements() == 0) {
      if (!accumulate) pointwise_->fill(dw, 0.0F);
      return;
    }
    const ConvolutionShape shape{
        Pass::BackwardWeight, x.dtype(), x.shape(), g.shape(), window, groups};
    way_of(shape).backward_weight(dw, x, g, shape, accumulate);
    if (dbias != nullptr) pointwise_->add_broadcast_backward(*dbias, g);
  }

  void pool2d_forward(Tensor& y, Tensor* chosen, const Tensor& x, const Window& window,
                      Pool kind) override {
    check_pooling(x, y, chosen, window);
    pool_forward(context_, y, chosen, x, window, kind);
  }
  void pool2d_backward(Tensor& dx, const Tensor& g, const Tensor* chosen, const Window& window,
                       Pool kind) override {
    check_pooling(dx, g, chosen, window);
    if (kind == Pool::Max && chosen == nullptr) {
      fail_internal("the gradient of max pooling needs the chosen positions");
    }
    pool_backward(context_, dx, g, chosen, window, kind);
  }
  // The qualified names call the functions of pool.h; unqualified names would call these members.
  void global_average_forward(Tensor& y, const Tensor& x) override {
    check_global_average(x, y);
    penstock::global_average_forward(context_, y, x);
  }
  void global_average_backward(Tensor& dx, const Tensor& g) override {
    check_global_average(dx, g);
    penstock::global_average_backward(context_, dx, g);
  }
  void upsample2d_forward(Tensor& y, const Tensor& x, const Enlarging& enlarging) override {
    check_upsampling(x, y, enlarging);
    upsample_forward(context_, y, x, enlarging);
  }
  void upsample2d_backward(Tensor& dx, const Tensor& g, const Enlarging& enlarging) override {
    check_upsampling(dx, g, enlarging);
    upsample_backward(context_, dx, g, enlarging);
  }

 private:
  ConvolutionWay& way_of(const ConvolutionShape& shape) {
    return **std::find_if(ways_.begin(), ways_.end(),
                          [&](const auto& way) { return way->takes(shape); });
  }

  CudaContext& context_;
  std::vector<std::unique_ptr<ConvolutionWay>> ways_;  // the first that takes a shape computes it
  std::unique_ptr<PointwiseOps> pointwise_;
};

}  // namespace

std::unique_ptr<ImageOps> cuda_image_ops(CudaContext& context) {
  return std::make_unique<CudaImage>(context);
}

}  // namespace penstock
