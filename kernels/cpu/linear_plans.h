// kernels/cpu/linear_plans.h -- the plans of a linear layer's three products (y = x w^T and the two
// gradients), and of 1 x 1 convolutions, whose pixels are the rows. All matrices are dense. Pure.
#pragma once

#include "kernels/cpu/loops/row_padding.h"
#include "kernels/cpu/loops/tiled_operands.h"
#include "kernels/cpu/onednn/onednn.h"

namespace penstock {

struct LinearExtents {
  int64_t rows, in, out;
  DType type;  // of x, y and their gradients
  OperandCopies copies;
};

// The plan with the operands that it multiplies from copies: padded rows, or bf16 tiles, where the
// shape makes that pay.
[[nodiscard]] inline MatmulPlan with_copies(MatmulPlan plan, const LinearExtents& e,
                                            LinearProduct product) {
  if (e.copies == OperandCopies::PaddedRows) {
    const PaddedOperands padded = padded_operands(product, e.rows, e.in, e.out);
    plan.pad_a = padded.a;
    plan.pad_b = padded.b;
  }
  if (e.copies == OperandCopies::Tiles && e.type == DType::BF16) {
    if (reads_tiles(product, e.rows, e.in, e.out)) plan.tiles = Tiles::Copied;
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
