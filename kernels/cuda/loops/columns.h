// kernels/cuda/loops/columns.h -- runs a kernel over the elements of a matrix [rows, columns] in
// which an element's result also depends on a value of its column: biases, channel norms. For .cu
// files.
//
// Such a kernel is bound by memory. A thread keeps its columns and walks down the rows, so what
// belongs to a column is read once and stays in registers. The rows of narrow matrices (images have
// 3 channels) are folded into wider ones.
#pragma once

#include <algorithm>

#include "kernels/cuda/families.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {

// A dense matrix [elements / columns, columns] seen as fewer, wider rows: `copies` of its rows,
// which follow each other in memory, make a wide row, so that every thread of a block has a wide
// column of its own. Wide column j belongs to column j % columns. The last wide row may be short.
struct FoldedRows {
  int64_t elements = 0;
  int64_t columns = 1;
  int64_t copies = 1;
  [[nodiscard]] __host__ __device__ int64_t width() const { return copies * columns; }
  [[nodiscard]] __host__ __device__ int64_t rows() const {
    return (elements + width() - 1) / width();
  }
};

// Folds the rows of a matrix to wide rows of about `width` elements, whose length is a multiple of
// `group`. `elements` must be a multiple of `group`.
[[nodiscard]] inline FoldedRows wide_rows(int64_t elements, int64_t columns, int64_t width,
                                          int64_t group) {
  FoldedRows rows{elements, columns, std::max<int64_t>(width / columns, 1)};
  if (columns % group != 0) rows.copies = (rows.copies + group - 1) / group * group;
  return rows;
}

// Returns, as floats, the values of the wide columns j to j + N - 1, where values[column] is that
// of a column.
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

// The kernel calls a Body for N elements at a time. A Body has
//   static constexpr int kWide;                           // elements of a 16-byte access
//   bool aligned() const;                                 // whether such accesses may be made
//   template <int N> auto columns(int64_t j, int64_t columns) const;  // what finish() needs of the
//                                                         // wide columns j .. j + N - 1
//   template <int N> auto load(int64_t i) const;          // reads all else that finish() needs
//   template <int N, class In, class C>                   // computes and stores the N elements
//                                                         // from index i of the matrix on
//   void finish(int64_t i, const In& in, const C& c) const;
// It is passed by value and compared as bytes (queue.h), so it must have no padding.
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

// Runs the Body over a matrix [elements / columns, columns], by 16-byte accesses where they are
// possible.
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
