// kernels/cuda/loops/columns.h -- runs kernels over the elements of a matrix [rows, columns] that
// also read a value of their column: biases, channel norms. For .cu files.
//
// Bound by memory. A thread keeps its columns and walks down the rows, so what belongs to a column
// is read once and stays in registers. Narrow matrices (images of 3 channels) are seen as fewer,
// wider rows of `copies` rows side by side.
#pragma once

#include <algorithm>

#include "kernels/cuda/families.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {

// A matrix [elements / columns, columns] seen as fewer rows of `copies` rows each, side by side, so
// that every thread of a block has a column of its own. The last wide row may be short.
struct FoldedRows {
  int64_t elements = 0;
  int64_t columns = 1;
  int64_t copies = 1;
  [[nodiscard]] __host__ __device__ int64_t width() const { return copies * columns; }
  [[nodiscard]] __host__ __device__ int64_t rows() const {
    return (elements + width() - 1) / width();
  }
};

// Folds rows to about `width` elements, in whole groups of `group`, of which `elements` is a
// multiple.
[[nodiscard]] inline FoldedRows wide_rows(int64_t elements, int64_t columns, int64_t width,
                                          int64_t group) {
  FoldedRows rows{elements, columns, std::max<int64_t>(width / columns, 1)};
  if (columns % group != 0) rows.copies = (rows.copies + group - 1) / group * group;
  return rows;
}

// N of the values that repeat with period `columns`, from wide column j on.
template <int N, class T>
__device__ Floats<N> repeated(const T* values, int64_t j, int64_t columns) {
  Floats<N> x;
  int64_t column = j % columns;
  for (int k = 0; k < N; ++k) {
    x[k] = widened(values[column]);
    if (++column == columns) column = 0;
  }
  return x;
}

// The kernel: element by element, with what belongs to the column. A Body has
//   static constexpr int kWide;                           // elements of a 16-byte access
//   bool aligned() const;                                 // whether such accesses may be made
//   template <int N> auto columns(int64_t j, int64_t columns) const;  // what belongs to the wide
//                                                         // columns j .. j + N
//   template <int N> auto load(int64_t i) const;          // reads everything else it needs
//   template <int N, class In, class C>                   // computes and stores
//   void finish(int64_t i, const In& in, const C& c) const;
inline constexpr int kColumnThreads = 128;
inline constexpr int kRowsAtATime = 4;  // loads of so many rows are in flight

template <int N, class Body>
__global__ void __launch_bounds__(kColumnThreads)
    columns_kernel(Body body, FoldedRows rows, int64_t rows_per_block) {
  const int64_t width = rows.width();
  const int64_t j = (int64_t{blockIdx.x} * kColumnThreads + static_cast<int64_t>(threadIdx.x)) * N;
  if (j >= width) return;
  const auto columns = body.template columns<N>(j, rows.columns);
  const int64_t begin = int64_t{blockIdx.y} * rows_per_block;
  const int64_t end = begin + rows_per_block;
  for (int64_t row = begin; row < end; row += kRowsAtATime) {
    decltype(body.template load<N>(0)) in[kRowsAtATime];
#pragma unroll
    for (int u = 0; u < kRowsAtATime; ++u) {
      const int64_t i = (row + u) * width + j;
      if (row + u < end && i < rows.elements) in[u] = body.template load<N>(i);
    }
#pragma unroll
    for (int u = 0; u < kRowsAtATime; ++u) {
      const int64_t i = (row + u) * width + j;
      if (row + u < end && i < rows.elements) body.template finish<N>(i, in[u], columns);
    }
  }
}

template <int N, class Body>
void launch_columns_by(CudaContext& context, const Body& body, int64_t elements, int64_t columns) {
  constexpr int64_t kBlocks = 2048;  // enough to fill any device, few enough to reuse the columns
  constexpr int64_t kMaxGridY = 65535;
  const FoldedRows rows = wide_rows(elements, columns, kColumnThreads * N, N);
  const uint32_t tiles = blocks_for(rows.width(), kColumnThreads * N);
  const int64_t per_block =
      std::max({rows.rows() * tiles / kBlocks, (rows.rows() + kMaxGridY - 1) / kMaxGridY,
                int64_t{kRowsAtATime}});
  const auto blocks = static_cast<uint32_t>((rows.rows() + per_block - 1) / per_block);
  const LaunchShape shape{.grid = {tiles, blocks}, .block = {kColumnThreads}};
  launch(context.queue, &columns_kernel<N, Body>, shape, body, rows, per_block);
}

// Runs the body over a matrix [elements / columns, columns].
template <class Body>
void launch_columns(CudaContext& context, const Body& body, int64_t elements, int64_t columns) {
  if (elements == 0) return;
  constexpr int kWide = Body::kWide;
  if (body.aligned() && elements % kWide == 0) {
    launch_columns_by<kWide>(context, body, elements, columns);
  } else {
    launch_columns_by<1>(context, body, elements, columns);
  }
}

struct NoColumns {};  // for bodies that keep nothing per column

}  // namespace penstock
