// kernels/cpu/operands.h -- where a matrix product reads its operands and puts its result: where
// they lie, or in copies. It is decided here alone: kernels/cpu/onednn makes the copies,
// kernels/counting counts them. Pure: by plan and processor alone, so that bits repeat.
#pragma once

#include <cstdint>

#include "kernels/cpu/matmul_plan.h"
#include "kernels/device_model.h"

namespace penstock {

// The form of a copy of a matrix, or of a part of it.
enum class Form : uint8_t {
  AsItLies,  // no copy
  Wide,    // fp32, by rows, or by columns where the matrix is; each is OperandCopy::padding longer
  Narrow,  // bf16, in the order of the matrix
  ByRows,  // bf16, by rows
  Tiles,   // bf16, in tiles (kernels/cpu/tiles.h)
};

struct OperandCopy {
  Form form = Form::AsItLies;
  bool kept = false;     // with the weight, and made after each change of it; else of this call
  int64_t padding = 0;   // elements
  int64_t elements = 0;  // of the memory that holds the copy
  int64_t copied = 0;    // elements of the matrix that a call copies, in all parts together

  [[nodiscard]] bool made() const { return form != Form::AsItLies; }
  [[nodiscard]] DType type() const { return form == Form::Wide ? DType::F32 : DType::BF16; }
};

struct OperandPlan {
  // The sum of a product in fp32 is the copy of c: it is rounded to c, after c was read into it
  // where the product adds to c.
  OperandCopy a{}, b{}, c{};
  // The product is computed in parts of at most these extents, whose copies are made one after
  // another. Parts of k are added up. A part of b that serves several parts of m is copied once,
  // unless c has a copy.
  int64_t m_part = 0, n_part = 0, k_part = 0;
};

// What decides besides the product itself.
struct OperandFacts {
  bool native_bf16;  // the processor multiplies bf16 numbers
  OperandCopies copies;
  bool read_once = false;  // b is a weight that is read once (Weight::is_read_once())
};

// Returns where the product described by `plan` finds its operands.
[[nodiscard]] OperandPlan plan_operands(const MatmulPlan& plan, const OperandFacts& facts);

// The plan of a bf16 product that reads b, fp32 or bf16, from tiles: what plan_operands() returns
// where that pays. The number of columns of b is a multiple of kTileColumns.
[[nodiscard]] OperandPlan operands_in_tiles(const MatmulPlan& plan);

// Whether the columns of a matrix follow each other in memory, and its rows do not.
[[nodiscard]] inline bool by_columns(const MatrixStrides& strides) {
  return strides[1] == 1 && strides[2] != 1;
}

}  // namespace penstock
