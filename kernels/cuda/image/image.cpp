// kernels/cuda/image/image.cpp -- convolutions turned into cuDNN's, and pooling after its checks.
#include "kernels/checks.h"
#include "kernels/cuda/dense/bias_function.h"
#include "kernels/cuda/image/cudnn_convolution.h"
#include "kernels/cuda/image/direct_convolution.h"
#include "kernels/cuda/image/filter_layout.h"
#include "kernels/cuda/image/pool.h"

namespace penstock {
namespace {

using Pass = Convolution::Pass;

[[noreturn]] void image_misfit(const std::string& op, const Tensor& x, const Tensor& y) {
  fail_internal(op + ": " + x.shape().text() + " " + name_of(x.dtype()) + " and " +
                y.shape().text() + " " + name_of(y.dtype()) + " do not fit together");
}

void check_convolution(const Tensor& x, const Tensor& y, const Tensor& w, const Window& window,
                       int groups) {
  const int64_t in = x.shape().back();
  const int64_t out = y.shape().back();
  const bool fits = groups > 0 && in % groups == 0 && out % groups == 0 && x.dtype() == y.dtype() &&
                    w.dtype() == DType::F32 &&
                    w.shape() == Shape{out, in / groups, window.kernel_h, window.kernel_w} &&
                    y.shape() == window_output(x.shape(), window, out);
  if (!fits) image_misfit("convolution with weight " + w.shape().text(), x, y);
}

bool symmetric(const Window& window) {
  return window.pad_top == window.pad_bottom && window.pad_left == window.pad_right;
}

Convolution convolution_of(Pass pass, const Tensor& x, const Tensor& y, const Window& window,
                           int groups) {
  const auto extent = [](const Tensor& t, int axis) { return static_cast<int>(t.dim(axis)); };
  return {.pass = pass,
          .type = x.dtype(),
          .n = extent(x, 0),
          .height = extent(x, 1),
          .width = extent(x, 2),
          .in = extent(x, 3),
          .out_height = extent(y, 1),
          .out_width = extent(y, 2),
          .out = extent(y, 3),
          .kernel_h = window.kernel_h,
          .kernel_w = window.kernel_w,
          .stride_h = window.stride_h,
          .stride_w = window.stride_w,
          .pad_h = window.pad_top,
          .pad_w = window.pad_left,
          .groups = groups};
}

void check_pooling(const Tensor& x, const Tensor& y, const Tensor* chosen, const Window& window) {
  const bool fits = x.dtype() == y.dtype() &&
                    y.shape() == window_output(x.shape(), window, x.shape().back()) &&
                    (chosen == nullptr || chosen->shape() == y.shape());
  if (!fits) image_misfit("pooling", x, y);
}

void check_global_average(const Tensor& x, const Tensor& y) {
  const bool fits = x.dtype() == y.dtype() && x.shape().rank() == 4 &&
                    y.shape() == Shape{x.dim(0), x.dim(3)} && x.dim(1) * x.dim(2) > 0;
  if (!fits) image_misfit("global average", x, y);
}

// cuDNN's fused bias and activation is not used: whether it takes a combination is not known before
// it runs, and what follows most convolutions is a batch norm.
class CudaImage final : public ImageOps {
 public:
  explicit CudaImage(CudaContext& context)
      : context_(context), library_(context), pointwise_(cuda_pointwise_ops(context)) {}

  void conv2d_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias,
                      const Window& window, int groups, Fused f) override {
    check_convolution(x, y, w.value(), window, groups);
    require_bias("convolution forward", bias, y.shape().back());
    if (y.elements() == 0) return;
    const Convolution convolution = convolution_of(Pass::Forward, x, y, window, groups);
    if (taken(convolution, window)) {
      const Tensor filter = packed(w, x.dtype());
      library_.run(convolution, {.x = x.raw(), .w = filter.raw(), .y = y.raw()});
    } else {
      direct_forward(context_, y, x, w.value(), window, groups);
    }
    apply_bias_function(context_, y, bias, f);
  }

  void conv2d_backward_input(Tensor& dx, const Tensor& g, Weight& w, const Window& window,
                             int groups) override {
    check_convolution(dx, g, w.value(), window, groups);
    if (dx.elements() == 0) return;
    const Convolution convolution = convolution_of(Pass::BackwardInput, dx, g, window, groups);
    if (taken(convolution, window)) {
      const Tensor filter = packed(w, g.dtype());
      library_.run(convolution, {.x = dx.raw(), .w = filter.raw(), .y = g.raw()});
    } else {
      direct_backward_input(context_, dx, g, w.value(), window, groups);
    }
  }

  void conv2d_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                              const Window& window, int groups, bool accumulate) override {
    check_convolution(x, g, dw, window, groups);
    require_bias("convolution backward weight", dbias, g.shape().back());
    if (!accumulate) pointwise_->fill(dw, 0.0F);
    if (g.elements() == 0) return;
    const Convolution convolution = convolution_of(Pass::BackwardWeight, x, g, window, groups);
    if (taken(convolution, window)) {
      const Tensor gradient = context_.scratch({dw.elements()}, x.dtype());
      library_.run(convolution, {.x = x.raw(), .w = gradient.raw(), .y = g.raw()});
      add_packed_filter(context_, dw, gradient);
    } else {
      direct_backward_weight(context_, dw, x, g, window, groups);
    }
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
  // The qualified names are the functions of pool.h, not these members.
  void global_average_forward(Tensor& y, const Tensor& x) override {
    check_global_average(x, y);
    penstock::global_average_forward(context_, y, x);
  }
  void global_average_backward(Tensor& dx, const Tensor& g) override {
    check_global_average(dx, g);
    penstock::global_average_backward(context_, dx, g);
  }

 private:
  bool taken(const Convolution& convolution, const Window& window) {
    return symmetric(window) && library_.supports(convolution);
  }

  // The filter as cuDNN reads it, made once after each update.
  Tensor packed(Weight& w, DType type) {
    constexpr uint64_t kPacked[] = {hash_name("cuda: filter in fp32"),
                                    hash_name("cuda: filter in bf16")};
    Weight::Form& form = w.form(kPacked[type == DType::F32 ? 0 : 1]);
    if (!form.packed) form.packed = context_.scratch({w.value().elements()}, type);
    if (form.version != w.version()) {
      pack_filter(context_, form.packed, w.value());
      form.version = w.version();
    }
    return form.packed;
  }

  CudaContext& context_;
  CudnnConvolutions library_;
  std::unique_ptr<PointwiseOps> pointwise_;
};

}  // namespace

std::unique_ptr<ImageOps> cuda_image_ops(CudaContext& context) {
  return std::make_unique<CudaImage>(context);
}

}  // namespace penstock
