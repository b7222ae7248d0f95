#include "kernels/cpu/operands.h"

#include <algorithm>

#include "kernels/cpu/tiles.h"

namespace penstock {
namespace {

int64_t whole_tiles(int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows * kTileRows;
}

// Whether a product of a linear layer is faster from tiles, on a processor with AMX.
//
// oneDNN 2.6 with AMX computes a product a[m, k] b[k, n] fastest where the rows of a follow each
// other and b lies in tiles. Given other operands it copies blocks of both itself, more than once,
// by code that is slower than ours; and where k is large, one operand is read from memory again for
// each block of the other. On a Granite Rapids (peak 1,400 GFLOP/s) the weight gradient of 1024
// rows, 1024 -> 4096 columns, went from 510 to 1030 GFLOP/s with its copies counted, the input
// gradient from 775 to 950. A forward gains less than the transposition of its weight costs.
bool tiles_pay(LinearProduct product, int64_t m, int64_t n, int64_t k) {
  if (n % kTileColumns != 0) return false;
  switch (product) {
    case LinearProduct::Forward:
      return false;
    case LinearProduct::InputGradient:
      return m >= 512 && n >= 512 && n * k >= 1 << 20;
    case LinearProduct::WeightGradient:
      // Left: the time that the copies take for each row of x and g. Right: the time that they
      // save. The unit is 10^-4 ns.
      return 2500 * m + 1600 * n < 12 * m * n;
  }
  return false;
}

// The size of the parts in which m or k is worked on from tiles, so that what a part reads stays in
// a core's cache: the whole extent up to about 1,500, else parts of about a thousand (whole tiles'
// rows) that are nearly equal.
int64_t tiled_part(int64_t extent) {
  constexpr int64_t kUsual = 1024;
  const int64_t parts = std::max<int64_t>(1, (extent + kUsual / 2) / kUsual);
  return std::min(extent, whole_tiles((extent + parts - 1) / parts));
}

// The number of elements by which the rows of a copy are longer that is made for longer rows, or 0
// where no copy pays: of a matrix whose rows have `row` elements, each used `uses` times.
//
// Without AVX-512 oneDNN 2.6 reads the operands of a product [m, k] [k, n] where they lie if m or n
// is small. Rows that are a multiple of 2 KiB apart then fall on the same few lines of the cache.
// On a Zen 3 (peak 88 GFLOP/s) the weight gradient of 1024 rows, 256 -> 1024 columns, went from 20
// to 58 GFLOP/s with its copy counted, the input gradient of 128 rows, 512 -> 2048 columns, from 48
// to 76 with its copy not counted. Nothing is gained by copying rows of x in y = x w^T, nor where m
// and n are both large: the library then copies the operands itself. A forward reads its weight by
// columns, which suffers less: the copy is not worth it below 256 rows (64 to 192 rows, widths of
// 512 and 1024, 4 to 10 % faster without), and at 256 it is as fast.
int64_t row_padding(const MatmulPlan& plan, int64_t row, int64_t uses) {
  constexpr int64_t kPadding = 16;
  // An operand that is used less often is not worth its copy.
  const int64_t least_uses = plan.linear == LinearProduct::Forward ? 256 : 64;
  // 1 / m + 1 / n > 0.0038, the library's own bound for what it multiplies in place.
  const bool in_place = 10'000 * (plan.m + plan.n) > 38 * plan.m * plan.n;
  return in_place && row % 512 == 0 && uses >= least_uses ? kPadding : 0;
}

// How many columns of a bf16 weight b [k, n] are widened and multiplied at a time where bf16 is
// emulated: all of them where the fp32 copy is at most 64 MiB, as for the weights of most layers,
// else as many as make 64 MiB. The whole fp32 copy of a classifier would be larger than the weights
// of a stage.
int64_t widened_columns(int64_t k, int64_t n) {
  constexpr int64_t kMostInAPiece = int64_t{16} << 20;
  constexpr int64_t kVectors = 32;  // whole ones, of any processor
  if (k * n <= kMostInAPiece) return n;
  return std::min(n, std::max(kVectors, kMostInAPiece / k / kVectors * kVectors));
}

// An fp32 copy of matrices [rows, columns] whose lines, rows or columns, are so much longer.
OperandCopy wide(int64_t batch, int64_t rows, int64_t columns, const MatrixStrides& strides,
                 int64_t padding) {
  const int64_t lines = by_columns(strides) ? columns : rows;
  return {.form = Form::Wide,
          .padding = padding,
          .elements = batch * (rows * columns + lines * padding),
          .copied = batch * rows * columns};
}

// The sum of a product for `columns` columns of c at a time.
OperandCopy sum(const MatmulPlan& plan, int64_t rows, int64_t columns) {
  OperandCopy all = wide(plan.batch, rows, columns, plan.c, 0);
  all.copied = plan.batch * plan.m * plan.n * (plan.accumulate ? 2 : 1);
  return all;
}

}  // namespace

OperandPlan operands_in_tiles(const MatmulPlan& p) {
  OperandPlan all{.m_part = tiled_part(p.m), .n_part = p.n, .k_part = tiled_part(p.k)};
  const bool cut = all.k_part < p.k;
  if (cut || by_columns(p.a)) {
    all.a = {.form = Form::ByRows, .elements = all.m_part * all.k_part, .copied = p.m * p.k};
  }
  all.b = {.form = Form::Tiles, .elements = whole_tiles(all.k_part) * p.n, .copied = p.k * p.n};
  if (cut && p.c_type == DType::BF16) {
    all.c = sum(p, all.m_part, p.n);
    all.b.copied *= (p.m + all.m_part - 1) / all.m_part;
  }
  return all;
}

OperandPlan plan_operands(const MatmulPlan& p, const OperandFacts& facts) {
  const auto in_tiles = [&](LinearProduct product, int64_t m, int64_t n, int64_t k) {
    return facts.copies == OperandCopies::Tiles && facts.native_bf16 && p.a_type == DType::BF16 &&
           tiles_pay(product, m, n, k);
  };
  if (p.linear && in_tiles(*p.linear, p.m, p.n, p.k)) return operands_in_tiles(p);

  OperandPlan all{.m_part = p.m, .n_part = p.n, .k_part = p.k};
  const auto emulated = [&](DType type) { return type == DType::BF16 && !facts.native_bf16; };
  const bool of_weight = p.linear && *p.linear != LinearProduct::WeightGradient;
  const bool pads = p.linear && facts.copies == OperandCopies::PaddedRows;
  if (of_weight && emulated(p.b_type)) all.n_part = widened_columns(p.k, p.n);
  const int64_t a_padding = pads && !of_weight ? row_padding(p, p.m, p.n) : 0;
  const int64_t b_padding = pads ? row_padding(p, by_columns(p.b) ? p.k : p.n, p.m) : 0;
  if (emulated(p.a_type) || a_padding > 0) {
    all.a = wide(p.batch, p.m, p.k, p.a, a_padding);
  }
  if (emulated(p.b_type) || b_padding > 0) {
    all.b = wide(p.batch, p.k, all.n_part, p.b, b_padding);
    all.b.copied = p.batch * p.k * p.n;
  }
  if (emulated(p.c_type)) all.c = sum(p, p.m, all.n_part);
  if (facts.native_bf16 && p.a_type == DType::BF16 && p.b_type == DType::F32) {
    // The input gradient reads this copy of the weight as well, unless it makes tiles from the fp32
    // value itself.
    const bool alone =
        p.linear == LinearProduct::Forward && in_tiles(LinearProduct::InputGradient, p.m, p.k, p.n);
    all.b = {.form = Form::Narrow,
             .kept = !(alone && facts.read_once),
             .elements = p.k * p.n,
             .copied = p.k * p.n};
  }
  return all;
}

}  // namespace penstock
