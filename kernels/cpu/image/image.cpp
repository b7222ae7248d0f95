// kernels/cpu/image/image.cpp -- convolutions turned into oneDNN plans, pooling and enlarging after
// their checks.
#include "kernels/checks.h"
#include "kernels/cpu/bias_gradient.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/image/patches.h"
#include "kernels/cpu/image/pool.h"
#include "kernels/cpu/image/upsample.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/ops/product_shape.h"

namespace penstock {
namespace {

ConvolutionPlan convolution(const Tensor& x, const Tensor& y, const Tensor& w, const Window& window,
                            int groups) {
  check_convolution(x, y, w, window, groups);
  return convolution_plan(x, y, window, groups);
}

// Returns whether the convolution is 1 x 1 and so a matrix product. A matrix product reads the
// filter as it is and needs none of oneDNN's layouts.
bool is_product(const ConvolutionPlan& plan) {
  return is_linear(plan.window, plan.groups);
}
LinearExtents extents(const ConvolutionPlan& plan) {
  return {plan.n * plan.h * plan.w, plan.in, plan.out, plan.type};
}

class CpuImageOps final : public OnCpu<ImageOps> {
 public:
  using OnCpu::OnCpu;

  void conv2d_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias,
                      const Window& window, int groups, Fused f) override {
    ConvolutionPlan plan = convolution(x, y, w.value(), window, groups);
    require_bias("convolution forward", bias, plan.out);
    plan.bias = bias != nullptr;
    plan.fused = f;
    const float* added = bias != nullptr ? bias->data<float>() : nullptr;
    if (!is_product(plan)) {
      if (const auto products = patch_products(y, w.shape(), groups)) {
        return forward_by_patches(context_, *products, y, x, w.value(), bias, window, f);
      }
      return context_.dnn.convolution_forward(plan, y.raw(), x.raw(), w, added);
    }
    MatmulPlan product = linear_plan(LinearProduct::Forward, extents(plan));
    product.bias = plan.bias;
    product.fused = f;
    context_.dnn.matmul(product, y.raw(), x.raw(), w, added);
  }
  void conv2d_backward_input(Tensor& dx, const Tensor& g, Weight& w, const Window& window,
                             int groups) override {
    const ConvolutionPlan plan = convolution(dx, g, w.value(), window, groups);
    if (is_product(plan)) {
      return context_.dnn.matmul(linear_plan(LinearProduct::InputGradient, extents(plan)), dx.raw(),
                                 g.raw(), w);
    }
    if (const auto products = patch_products(g, w.shape(), groups)) {
      return backward_input_by_patches(context_, *products, dx, g, w.value(), window);
    }
    context_.dnn.convolution_backward_input(plan, dx.raw(), g.raw(), w);
  }
  void conv2d_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                              const Window& window, int groups, bool accumulate) override {
    const ConvolutionPlan plan = convolution(x, g, dw, window, groups);
    require_bias("convolution backward weight", dbias, plan.out);
    if (is_product(plan)) {
      context_.dnn.matmul(linear_plan(LinearProduct::WeightGradient, extents(plan), accumulate),
                          dw.raw(), g.raw(), x.raw());
    } else if (const auto products = patch_products(g, dw.shape(), groups)) {
      backward_weight_by_patches(context_, *products, dw, x, g, window, accumulate);
    } else {
      context_.dnn.convolution_backward_weight(plan, dw.data<float>(), x.raw(), g.raw(),
                                               accumulate);
    }
    if (dbias != nullptr) add_column_sums(context_, dbias->data<float>(), g);
  }

  void pool2d_forward(Tensor& y, Tensor* chosen, const Tensor& x, const Window& window,
                      Pool kind) override {
    check_pooling(x, y, chosen, window);
    pool_forward(context_.threads, y, chosen, x, window, kind);
  }
  void pool2d_backward(Tensor& dx, const Tensor& g, const Tensor* chosen, const Window& window,
                       Pool kind) override {
    check_pooling(dx, g, chosen, window);
    if (kind == Pool::Max && chosen == nullptr) {
      fail_internal("the gradient of max pooling needs the chosen positions");
    }
    pool_backward(context_.threads, dx, g, chosen, window, kind);
  }
  // The qualified names call the loops of pool.h; unqualified names would call these members.
  void global_average_forward(Tensor& y, const Tensor& x) override {
    check_global_average(x, y);
    penstock::global_average_forward(context_.threads, y, x);
  }
  void global_average_backward(Tensor& dx, const Tensor& g) override {
    check_global_average(dx, g);
    penstock::global_average_backward(context_.threads, dx, g);
  }
  void upsample2d_forward(Tensor& y, const Tensor& x, const Enlarging& enlarging) override {
    check_upsampling(x, y, enlarging);
    upsample_forward(context_.threads, y, x, enlarging);
  }
  void upsample2d_backward(Tensor& dx, const Tensor& g, const Enlarging& enlarging) override {
    check_upsampling(dx, g, enlarging);
    upsample_backward(context_.threads, dx, g, enlarging);
  }
};

}  // namespace

std::unique_ptr<ImageOps> cpu_image_ops(CpuContext& context) {
  return std::make_unique<CpuImageOps>(context);
}

}  // namespace penstock
