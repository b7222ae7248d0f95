// kernels/cpu/linear_plans.h -- the plans (MatmulPlan, kernels/cpu/onednn/onednn.h) of a linear
// layer's three products: y = x w^T and the two gradients. They serve 1 x 1 convolutions, too,
// whose pixels are the rows. Pure: a plan depends on the extents alone.
//
// The matrices are dense and row-major: x [rows, in], w [out, in], y and its gradient g [rows,
// out]. A plan computes c[m, n] = a[m, k] b[k, n] and has the strides of each matrix in the order
// (next matrix, next row, next column), in elements: {0, in, 1} for the one matrix x, {0, 1, in}
// for w^T, the transposed w.
#pragma once

#include "kernels/cpu/loops/row_padding.h"
#include "kernels/cpu/loops/tiled_operands.h"
#include "kernels/cpu/onednn/onednn.h"

namespace penstock {

// The sizes of a linear layer, y[rows, out] = x[rows, in] w[out, in]^T, and how its products may be
// computed.
struct LinearExtents {
  int64_t rows, in, out;
  DType type;  // of x, y and their gradients
  // What this processor is faster with: no copies of operands, copies with padded rows (without
  // AVX-512), or copies of bf16 operands in tiles (with AMX). OneDnn::operand_copies() says it.
  OperandCopies copies;
};

// Returns the plan of `product` with the marks (pad_a, pad_b, tiles, b_alone) of the operands that
// oneDNN is to read from copies. Copies of the kind `e.copies` are asked for only where the shape
// makes them pay (row_padding.h, tiled_operands.h).
[[nodiscard]] inline MatmulPlan with_copies(MatmulPlan plan, const LinearExtents& e,
                                            LinearProduct product) {
  if (e.copies == OperandCopies::PaddedRows) {
    const PaddedOperands padded = padded_operands(product, e.rows, e.in, e.out);
    plan.pad_a = padded.a;
    plan.pad_b = padded.b;
  }
  if (e.copies == OperandCopies::Tiles && e.type == DType::BF16) {
    if (reads_tiles(product, e.rows, e.in, e.out)) plan.tiles = Tiles::Copied;
    // A bf16 forward reads a bf16 copy of the fp32 weight, its b. The input gradient reads that
    // copy as well, unless it makes tiles from the fp32 value itself; the forward is then alone
    // with the copy, which need not be kept after the call.
    plan.b_alone = product == LinearProduct::Forward &&
                   reads_tiles(LinearProduct::InputGradient, e.rows, e.in, e.out);
  }
  return plan;
}

// y = x w^T
[[nodiscard]] inline MatmulPlan linear_forward_plan(const LinearExtents& e) {
  const MatmulPlan plan{.m = e.rows,
                        .n = e.out,
                        .k = e.in,
                        .a = {0, e.in, 1},
                        .b = {0, 1, e.in},
                        .c = {0, e.out, 1},
                        .a_type = e.type,
                        .b_type = e.type,
                        .c_type = e.type};
  return with_copies(plan, e, LinearProduct::Forward);
}

// dx = g w
[[nodiscard]] inline MatmulPlan linear_input_plan(const LinearExtents& e) {
  const MatmulPlan plan{.m = e.rows,
                        .n = e.in,
                        .k = e.out,
                        .a = {0, e.out, 1},
                        .b = {0, e.in, 1},
                        .c = {0, e.in, 1},
                        .a_type = e.type,
                        .b_type = e.type,
                        .c_type = e.type};
  return with_copies(plan, e, LinearProduct::InputGradient);
}

// dw = g^T x, or += where told to accumulate; fp32
[[nodiscard]] inline MatmulPlan linear_weight_plan(const LinearExtents& e, bool accumulate) {
  const MatmulPlan plan{.m = e.out,
                        .n = e.in,
                        .k = e.rows,
                        .a = {0, 1, e.out},
                        .b = {0, e.in, 1},
                        .c = {0, e.in, 1},
                        .a_type = e.type,
                        .b_type = e.type,
                        .c_type = DType::F32,
                        .accumulate = accumulate};
  return with_copies(plan, e, LinearProduct::WeightGradient);
}

}  // namespace penstock
