// kernels/cpu/loops/column_sums.h -- sums over the rows of a matrix: bias gradients, norm
// statistics.
//
// The rows are cut into blocks whose size depends on the matrix alone. A block is summed in fp32,
// the blocks in double and in order, so the result depends neither on threads nor on addresses.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/loops/loops.h"
#include "kernels/cpu/loops/simd_math.h"

namespace penstock {

// A dense matrix [elements / columns, columns] seen as fewer, wider rows: `copies` of its rows,
// which follow each other in memory, make a wide row. Loops over narrow rows (images have 3
// channels) are then long enough to vectorise. The last wide row may be short.
struct WideRows {
  int64_t elements = 0;  // of the whole matrix
  int64_t columns = 0;
  int64_t copies = 1;
  [[nodiscard]] int64_t width() const { return copies * columns; }  // of a wide row
  [[nodiscard]] int64_t rows() const {
    return elements == 0 ? 0 : (elements + width() - 1) / width();
  }
};

// plain_rows() leaves rows as they are, folded_rows() makes narrow ones about 128 wide.
[[nodiscard]] inline WideRows plain_rows(int64_t elements, int64_t columns) {
  return {elements, columns, 1};
}
[[nodiscard]] inline WideRows folded_rows(int64_t elements, int64_t columns) {
  constexpr int64_t kWidth = 128;
  if (columns == 0) return {0, 1, 1};
  const int64_t rows = elements / columns;
  return {elements, columns, std::clamp<int64_t>(kWidth / columns, 1, std::max<int64_t>(rows, 1))};
}

// Sums kTerms numbers of each element over the rows of the matrix. Returns scratch memory, fp64
// [kTerms, columns]: the sums of term(wide_row, wide_column, element)[t] over the elements of each
// column; wide column j belongs to column j % columns. `element` = wide_row * width + wide_column
// is the element's index in the matrix. term() returns an array of kTerms floats; several threads
// call it at a time.
template <int kTerms, class F>
[[nodiscard]] Tensor column_sums(const CpuContext& context, const WideRows& rows, const F& term) {
  constexpr int64_t kMinRows = 32;
  constexpr int64_t kMaxBlocks = 64;
  constexpr int64_t kTileWidth = 1024;  // a tile's sums stay in the first-level cache
  const int64_t width = rows.width();
  const int64_t block_rows = std::max(kMinRows, (rows.rows() + kMaxBlocks - 1) / kMaxBlocks);
  const int64_t blocks = (rows.rows() + block_rows - 1) / block_rows;
  const int64_t tiles = (width + kTileWidth - 1) / kTileWidth;
  Tensor sums = scratch(context, kTerms * rows.columns, DType::F64);
  const Tensor partial = scratch(context, blocks * kTerms * width, DType::F32);

  // One block of rows, one tile of columns; four rows at a time.
  const auto sum_tile = [&](int64_t block, int64_t tile) {
    std::array<float*, kTerms> to;
    for (int t = 0; t < kTerms; ++t) to[t] = partial.data<float>() + (block * kTerms + t) * width;
    const int64_t begin = tile * kTileWidth;
    const int64_t end = std::min(begin + kTileWidth, width);
    for (int t = 0; t < kTerms; ++t) std::fill(to[t] + begin, to[t] + end, 0.0F);
    const int64_t last = std::min((block + 1) * block_rows, rows.rows());
    int64_t row = block * block_rows;
    for (; row + 4 <= last && (row + 4) * width <= rows.elements; row += 4) {
      const int64_t at = row * width;
#pragma GCC ivdep
      for (int64_t j = begin; j < end; ++j) {
        const auto a = term(row, j, at + j);
        const auto b = term(row + 1, j, at + width + j);
        const auto c = term(row + 2, j, at + 2 * width + j);
        const auto d = term(row + 3, j, at + 3 * width + j);
        for (int t = 0; t < kTerms; ++t) to[t][j] += (a[t] + b[t]) + (c[t] + d[t]);
      }
    }
    for (; row < last; ++row) {
      const int64_t at = row * width;
      const int64_t stop = std::min(end, rows.elements - at);
#pragma GCC ivdep
      for (int64_t j = begin; j < stop; ++j) {
        const auto a = term(row, j, at + j);
        for (int t = 0; t < kTerms; ++t) to[t][j] += a[t];
      }
    }
  };
  for_rows(context, blocks * tiles, block_rows * std::min(width, kTileWidth),
           [&](int64_t i) { sum_tile(i / tiles, i % tiles); });

  const int64_t columns = rows.columns;
  for_ranges(context, columns, kTerms * blocks * rows.copies, [&](int64_t first, int64_t end) {
    for (int t = 0; t < kTerms; ++t) {
      double* to = sums.data<double>() + t * columns;
      std::fill(to + first, to + end, 0.0);
      for (int64_t block = 0; block < blocks; ++block) {
        for (int64_t copy = 0; copy < rows.copies; ++copy) {
          const float* from = partial.data<float>() + (block * kTerms + t) * width + copy * columns;
          for (int64_t c = first; c < end; ++c) to[c] += from[c];
        }
      }
    }
  });
  return sums;
}

// to[c] += sums[c] for each column, rounded to fp32.
inline void add_sums(float* to, const double* sums, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) to[c] += static_cast<float>(sums[c]);
}

}  // namespace penstock
