// kernels/cpu/dense.cpp -- matrix products on the CPU: shapes turned into oneDNN plans.
#include "kernels/checks.h"
#include "kernels/cpu/bias_gradient.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/linear_plans.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/ops/product_shape.h"

namespace penstock {
namespace {

class CpuDenseOps final : public DenseOps {
 public:
  explicit CpuDenseOps(CpuContext& context) : context_(context) {}

  void linear_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias, Fused f) override {
    const int64_t rows = linear_rows("linear forward", x, y, w.value());
    require_bias("linear forward", bias, w.shape()[0]);
    const int64_t out = w.shape()[0];
    const int64_t in = w.shape()[1];
    MatmulPlan plan =
        linear_forward_plan({rows, in, out, x.dtype(), context_.dnn.operand_copies()});
    plan.bias = bias != nullptr;
    plan.fused = f;
    context_.dnn.matmul(plan, y.raw(), x.raw(), w, bias != nullptr ? bias->data<float>() : nullptr);
  }

  void linear_backward_input(Tensor& dx, const Tensor& g, Weight& w) override {
    const int64_t rows = linear_rows("linear backward input", dx, g, w.value());
    const int64_t out = w.shape()[0];
    const int64_t in = w.shape()[1];
    const MatmulPlan plan =
        linear_input_plan({rows, in, out, g.dtype(), context_.dnn.operand_copies()});
    context_.dnn.matmul(plan, dx.raw(), g.raw(), w);
  }

  void linear_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                              bool accumulate) override {
    const int64_t rows = linear_rows("linear backward weight", x, g, dw);
    require_sum("linear backward weight", dw);
    const int64_t out = dw.dim(0);
    const int64_t in = dw.dim(1);
    const MatmulPlan plan =
        linear_weight_plan({rows, in, out, x.dtype(), context_.dnn.operand_copies()}, accumulate);
    context_.dnn.matmul(plan, dw.raw(), g.raw(), x.raw());
    if (dbias != nullptr) linear_backward_bias(*dbias, g);
  }
  void linear_backward_bias(Tensor& dbias, const Tensor& g) override {
    const int64_t out = g.shape().back();
    require_bias("linear backward weight", &dbias, out);
    add_column_sums(context_, dbias.data<float>(), g, g.shape().rows(), out);
  }

  void matmul(Tensor& c, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
              bool accumulate) override {
    const MatmulPlan plan = product(c, a, b, transpose_a, transpose_b, accumulate);
    context_.dnn.matmul(plan, c.raw(), a.raw(), b.raw());
  }

 private:
  static MatmulPlan product(const Tensor& c, const Tensor& a, const Tensor& b, bool transpose_a,
                            bool transpose_b, bool accumulate) {
    const auto [batch, m, n, k] = matmul_sizes(c, a, b, transpose_a, transpose_b);
    return {.batch = batch,
            .m = m,
            .n = n,
            .k = k,
            .a = transpose_a ? MatrixStrides{m * k, 1, m} : MatrixStrides{m * k, k, 1},
            .b = transpose_b ? MatrixStrides{k * n, 1, k} : MatrixStrides{k * n, n, 1},
            .c = {m * n, n, 1},
            .a_type = a.dtype(),
            .b_type = b.dtype(),
            .c_type = c.dtype(),
            .accumulate = accumulate};
  }

  CpuContext& context_;
};

}  // namespace

std::unique_ptr<DenseOps> cpu_dense_ops(CpuContext& context) {
  return std::make_unique<CpuDenseOps>(context);
}

}  // namespace penstock
