// kernels/cuda/loops/column_sums.h -- sums over the rows of a matrix: bias gradients, norm
// statistics and norm gradients. For .cu files.
//
// There are two kernels. In the first, which is bound by memory, each thread block sums a block of
// rows in fp32 and writes these partial sums to scratch memory. The second adds the partial sums of
// a column in double and gives the totals to a Finish. How the rows are cut and in which order sums
// are taken depends on the shape of the matrix alone.
#pragma once

#include "kernels/cuda/loops/columns.h"
#include "kernels/cuda/loops/reduce.h"

namespace penstock {

// A Body of a sum has
//   static constexpr int kWide;                        // elements of a 16-byte access
//   bool aligned() const;                              // whether such accesses may be made
//   static constexpr int kTerms;                       // sums per column
//   static constexpr bool kByRow;                      // whether add() reads the argument `row`
//   template <int N> auto columns(int64_t j, int64_t columns) const;  // what add() needs of the
//                                                      // wide columns j .. j + N - 1 (FoldedRows)
//   template <int N, bool kAligned, class C>           // adds the terms of the N elements from
//                                                      // index i of the matrix on to `sums`
//   void add(Floats<N> (&sums)[kTerms], int64_t row, int64_t i, const C& c) const;
// and a Finish takes the totals of a column:
//   void operator()(int64_t column, const double (&totals)[kTerms]) const;
inline constexpr int kRowLanes = 8;  // threads that share a column of a block of rows

// How a matrix is cut: into blocks of (wide) rows, and each of these into tiles of columns, one for
// a thread block.
struct SumPlan {
  FoldedRows rows;
  int64_t rows_per_block = 0;
  int64_t blocks = 0;  // of rows
  int64_t tiles = 0;   // of columns
  // Whether the first kernel adds the copies of a column within a wide row. It can where there is
  // one tile, so that a thread block has them all.
  [[nodiscard]] bool folds() const { return rows.copies > 1 && tiles == 1; }
  // The form of the rows of partial sums that the second kernel adds.
  [[nodiscard]] FoldedRows partial_rows() const {
    return folds() ? FoldedRows{rows.elements, rows.columns, 1} : rows;
  }
};
// Returns the plan for a matrix [elements / columns, columns]. `group`: elements of an access;
// `by_row`: Body::kByRow, with which rows are not folded into wide ones.
[[nodiscard]] inline SumPlan sum_plan(int64_t elements, int64_t columns, int group, bool by_row) {
  constexpr int64_t kBlocks = 1024;
  constexpr int64_t kMinRows = 4 * kRowLanes;
  const int64_t tile = int64_t{kWarp} * group;
  SumPlan plan;
  plan.rows = by_row ? FoldedRows{elements, columns, 1} : wide_rows(elements, columns, tile, group);
  plan.tiles = (plan.rows.width() + tile - 1) / tile;
  plan.rows_per_block = std::max(plan.rows.rows() * plan.tiles / kBlocks, kMinRows);
  plan.blocks = (plan.rows.rows() + plan.rows_per_block - 1) / plan.rows_per_block;
  return plan;
}

// The first kernel: writes partial[block of rows][term][wide column], or partial[block of
// rows][term][column] where it `folds`.
template <int N, bool kAligned, class Body>
__global__ void __launch_bounds__(kWarp* kRowLanes)
    partial_sums_kernel(float* partial, Body body, FoldedRows rows, int64_t rows_per_block,
                        bool folds) {
  constexpr int kTerms = Body::kTerms;
  constexpr int kSlots = kWarp * N;
  constexpr int kThreads = kWarp * kRowLanes;
  __shared__ float shared[kTerms][kRowLanes][kSlots];
  const int64_t width = rows.width();
  const int lane = static_cast<int>(threadIdx.x);
  const int row_lane = static_cast<int>(threadIdx.y);
  const int64_t tile = int64_t{blockIdx.x} * kSlots;
  const int64_t j = tile + lane * N;
  Floats<N> sums[kTerms]{};
  if (j < width) {
    const auto columns = body.template columns<N>(j, rows.columns);
    const int64_t begin = int64_t{blockIdx.y} * rows_per_block;
    const int64_t end = begin + rows_per_block;
#pragma unroll 4
    for (int64_t row = begin + row_lane; row < end; row += kRowLanes) {
      const int64_t i = row * width + j;
      if (i < rows.elements) body.template add<N, kAligned>(sums, row, i, columns);
    }
  }
  // Slot k * kWarp + lane for column lane * N + k: no two lanes share a bank.
  for (int t = 0; t < kTerms; ++t) {
    for (int k = 0; k < N; ++k) shared[t][row_lane][k * kWarp + lane] = sums[t][k];
  }
  __syncthreads();
  const int thread = row_lane * kWarp + lane;
  for (int at = thread; at < kTerms * kSlots; at += kThreads) {
    const int t = at / kSlots;
    const int slot = at % kSlots;
    const int64_t column = tile + slot % kWarp * N + slot / kWarp;
    float sum = shared[t][0][slot];
    for (int r = 1; r < kRowLanes; ++r) sum += shared[t][r][slot];
    shared[t][0][slot] = sum;
    if (!folds && column < width) {
      partial[(int64_t{blockIdx.y} * kTerms + t) * width + column] = sum;
    }
  }
  if (!folds) return;  // all threads of the grid or none
  __syncthreads();
  const int columns = static_cast<int>(rows.columns);
  for (int at = thread; at < kTerms * columns; at += kThreads) {
    const int t = at / columns;
    float sum = 0.0F;
    for (int column = at % columns; column < width; column += columns) {
      sum += shared[t][0][column % N * kWarp + column / N];
    }
    partial[int64_t{blockIdx.y} * kTerms * columns + at] = sum;
  }
}

// The second kernel: adds the partial sums of the blocks of rows, and the copies within each, in a
// fixed order: each of kLanes threads of a column adds every kLanes-th, then one thread adds their
// sums in turn and calls finish(). It reads a few megabytes at most, from the second-level cache.
template <int kLanes>
inline constexpr int kTotalColumns = kLanes == 1 ? 256 : kWarp;  // columns of a thread block

template <int kLanes, int kTerms, class Finish>
__global__ void __launch_bounds__(kLanes* kTotalColumns<kLanes>)
    total_sums_kernel(const float* partial, Finish finish, FoldedRows rows, int64_t blocks) {
  constexpr int kColumns = kTotalColumns<kLanes>;
  __shared__ double shared[kTerms][kLanes][kColumns];
  const int column_lane = static_cast<int>(threadIdx.x);
  const int row_lane = static_cast<int>(threadIdx.y);
  const int64_t column = int64_t{blockIdx.x} * kColumns + column_lane;
  const int64_t width = rows.width();
  double sums[kTerms] = {};
  if (column < rows.columns) {
#pragma unroll 4
    for (int64_t r = row_lane; r < blocks * rows.copies; r += kLanes) {
      const int64_t block = rows.copies == 1 ? r : r / rows.copies;
      const int64_t j = (r - block * rows.copies) * rows.columns + column;
      for (int t = 0; t < kTerms; ++t) sums[t] += partial[(block * kTerms + t) * width + j];
    }
  }
  for (int t = 0; t < kTerms; ++t) shared[t][row_lane][column_lane] = sums[t];
  __syncthreads();
  if (row_lane != 0 || column >= rows.columns) return;
  for (int t = 0; t < kTerms; ++t) {
    for (int r = 1; r < kLanes; ++r) sums[t] += shared[t][r][column_lane];
  }
  finish(column, sums);
}

template <int kLanes, int kTerms, class Finish>
void launch_total_sums(CudaContext& context, const float* partial, const Finish& finish,
                       const SumPlan& plan) {
  const FoldedRows rows = plan.partial_rows();
  const LaunchShape shape{.grid = {blocks_for(rows.columns, kTotalColumns<kLanes>)},
                          .block = {kTotalColumns<kLanes>, kLanes}};
  launch(context.queue, &total_sums_kernel<kLanes, kTerms, Finish>, shape, partial, finish, rows,
         plan.blocks);
}

// Runs the two kernels over a matrix [elements / columns, columns]: calls finish(column, totals),
// on the device, once for each column. The Body and the Finish are passed by value and compared as
// bytes (queue.h), so they must have no padding.
template <class Body, class Finish>
void launch_column_sums(CudaContext& context, const Body& body, const Finish& finish,
                        int64_t elements, int64_t columns) {
  if (columns == 0) return;
  constexpr int kWide = Body::kWide;
  constexpr int kTerms = Body::kTerms;
  const bool grouped = Body::kByRow ? columns % kWide == 0 : elements % kWide == 0;
  const SumPlan plan = sum_plan(elements, columns, grouped ? kWide : 1, Body::kByRow);
  const Tensor partial =
      context.scratch({plan.blocks, kTerms, plan.partial_rows().width()}, DType::F32);
  const auto sum = [&]<int N, bool kAligned>() {
    const LaunchShape shape{
        .grid = {static_cast<uint32_t>(plan.tiles), static_cast<uint32_t>(plan.blocks)},
        .block = {kWarp, kRowLanes}};
    launch(context.queue, &partial_sums_kernel<N, kAligned, Body>, shape, partial.data<float>(),
           body, plan.rows, plan.rows_per_block, plan.folds());
  };
  if (!grouped) {
    sum.template operator()<1, true>();
  } else if (body.aligned()) {
    sum.template operator()<kWide, true>();
  } else {
    sum.template operator()<kWide, false>();
  }
  constexpr int kLanes = 16;
  const auto* from = partial.data<float>();
  if (plan.blocks * plan.partial_rows().copies < kLanes) {
    launch_total_sums<1, kTerms>(context, from, finish, plan);
  } else {
    launch_total_sums<kLanes, kTerms>(context, from, finish, plan);
  }
}

}  // namespace penstock
