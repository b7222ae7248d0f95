// kernels/cpu/dense.cpp -- matrix products on the CPU: shapes turned into oneDNN plans.
#include "kernels/checks.h"
#include "kernels/cpu/bias_gradient.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/ops/product_shape.h"

namespace penstock {
namespace {

class CpuDenseOps final : public OnCpu<DenseOps> {
 public:
  using OnCpu::OnCpu;

  void linear_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias, Fused f) override {
    const int64_t rows = linear_rows("linear forward", x, y, w.value());
    require_bias("linear forward", bias, w.shape()[0]);
    MatmulPlan plan = linear_plan(LinearProduct::Forward, extents(rows, x, w.value()));
    plan.bias = bias != nullptr;
    plan.fused = f;
    context_.dnn.matmul(plan, y.raw(), x.raw(), w, bias != nullptr ? bias->data<float>() : nullptr);
  }

  void linear_backward_input(Tensor& dx, const Tensor& g, Weight& w) override {
    const int64_t rows = linear_rows("linear backward input", dx, g, w.value());
    context_.dnn.matmul(linear_plan(LinearProduct::InputGradient, extents(rows, g, w.value())),
                        dx.raw(), g.raw(), w);
  }

  void linear_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                              bool accumulate) override {
    const int64_t rows = linear_rows("linear backward weight", x, g, dw);
    require_sum("linear backward weight", dw);
    context_.dnn.matmul(
        linear_plan(LinearProduct::WeightGradient, extents(rows, x, dw), accumulate), dw.raw(),
        g.raw(), x.raw());
    if (dbias != nullptr) linear_backward_bias(*dbias, g);
  }
  void linear_backward_bias(Tensor& dbias, const Tensor& g) override {
    require_bias("linear backward weight", &dbias, g.shape().back());
    add_column_sums(context_, dbias.data<float>(), g);
  }

  void matmul(Tensor& c, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
              bool accumulate) override {
    context_.dnn.matmul(matmul_plan(c, a, b, transpose_a, transpose_b, accumulate), c.raw(),
                        a.raw(), b.raw());
  }

 private:
  // The sizes of a layer whose weight, or the gradient of it, is `w` [out, in].
  static LinearExtents extents(int64_t rows, const Tensor& x, const Tensor& w) {
    return {rows, w.dim(1), w.dim(0), x.dtype(), w.dtype()};
  }
};

}  // namespace

std::unique_ptr<DenseOps> cpu_dense_ops(CpuContext& context) {
  return std::make_unique<CpuDenseOps>(context);
}

}  // namespace penstock
