// kernels/cpu/matmul_plan.h -- MatmulPlan: a matrix product, and the plans of a linear layer's
// three products: y = x w^T and the two gradients. They serve 1 x 1 convolutions, too, whose pixels
// are the rows. Pure: a plan depends on the extents alone. Where operands are read is decided from
// it in operands.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/ops/dense.h"
#include "kernels/ops/product_shape.h"

namespace penstock {

// The distances in elements from one matrix of a batch to the next, from one row to the next, and
// from one column to the next. A dense row-major matrix [m, k] has {m k, k, 1}, and the same memory
// read as its transpose {m k, 1, k}.
using MatrixStrides = std::array<int64_t, 3>;

// The three products of a linear layer y = x w^T, with g the gradient of y: y = x w^T, dx = g w, dw
// = g^T x.
enum class LinearProduct : uint8_t { Forward, InputGradient, WeightGradient };

// c[batch, m, n] = f(scale a b + bias + (accumulate ? c : 0)), any element strides. Zero extents
// are fine; k == 0 is a product of zeros. A fused function gives the bits that activation_forward
// would give on the fp32 result (but for the sign of a zero, on old CPUs); Tanh wants a dense c.
// Fast where the matrices are dense, by rows or by columns. Types are those of the matrices as they
// lie: b may be fp32 where a is bf16, and is then rounded.
struct MatmulPlan {
  int64_t batch = 1;
  int64_t m = 0, n = 0, k = 0;
  MatrixStrides a{}, b{}, c{};  // of a [m, k], b [k, n] and c [m, n]
  DType a_type = DType::F32, b_type = DType::F32, c_type = DType::F32;
  float scale = 1.0F;       // multiplies the product; not together with a bias
  bool accumulate = false;  // add to c
  bool bias = false;        // fp32 [n]
  // The matrix b lies in the order of AMX's tiles (kernels/cpu/tiles.h) and has no strides. Such a
  // product has one matrix, no bias, no scale and no fused function.
  bool b_in_tiles = false;
  Fused fused = Fused::None;
  std::optional<LinearProduct> linear = {};  // which product of a linear layer it is, if it is one
  bool operator==(const MatmulPlan&) const = default;
};

// Returns the plan of DenseOps::matmul() of those tensors. Throws Error(Internal) where they do not
// fit together.
[[nodiscard]] inline MatmulPlan matmul_plan(const Tensor& c, const Tensor& a, const Tensor& b,
                                            bool transpose_a, bool transpose_b, bool accumulate) {
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

// The sizes and types of a linear layer, y[rows, out] = x[rows, in] w[out, in]^T.
struct LinearExtents {
  int64_t rows, in, out;
  DType type;                 // of x, y and their gradients
  DType weight = DType::F32;  // of w; its gradient is fp32
};

// Returns the plan of one of the three products. Its matrices are dense and row-major: x [rows,
// in], w [out, in], y and its gradient g [rows, out]. `accumulate`: the result is added to what is
// there.
[[nodiscard]] inline MatmulPlan linear_plan(LinearProduct product, const LinearExtents& e,
                                            bool accumulate = false) {
  const auto& [rows, in, out, type, weight] = e;
  MatmulPlan plan{.a_type = type,
                  .b_type = weight,
                  .c_type = type,
                  .accumulate = accumulate,
                  .linear = product};
  const auto set = [&](const std::array<int64_t, 3>& mnk, const MatrixStrides& a,
                       const MatrixStrides& b) {
    plan.m = mnk[0];
    plan.n = mnk[1];
    plan.k = mnk[2];
    plan.a = a;
    plan.b = b;
    plan.c = {0, plan.n, 1};
  };
  switch (product) {
    case LinearProduct::Forward:  // x w^T
      set({rows, out, in}, {0, in, 1}, {0, 1, in});
      break;
    case LinearProduct::InputGradient:  // g w
      set({rows, in, out}, {0, out, 1}, {0, in, 1});
      break;
    case LinearProduct::WeightGradient:  // g^T x
      set({out, in, rows}, {0, 1, out}, {0, in, 1});
      plan.b_type = type;
      plan.c_type = DType::F32;
      break;
  }
  return plan;
}

}  // namespace penstock
