// kernels/cpu/loops/transposed.h -- transposes eight by eight words of 4 bytes in registers, and
// matrices by them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

#pragma GCC diagnostic ignored "-Wpsabi"  // for GCC: no row is passed to another file

constexpr int64_t kRow = 8;
using Row = float __attribute__((vector_size(32)));  // or any other words: they are only moved
using Rows = std::array<Row, kRow>;

[[gnu::always_inline]] inline Row load_row(const void* from) {
  Row row;
  std::memcpy(&row, from, sizeof row);
  return row;
}

template <class Vector>
[[gnu::always_inline]] inline void store_row(void* to, const Vector& row) {
  std::memcpy(to, &row, sizeof row);
}

// Loads rows that begin `step` numbers apart.
[[gnu::always_inline]] inline Rows load_rows(const float* from, int64_t step) {
  Rows rows;
  for (Row& row : rows) {
    row = load_row(from);
    from += step;
  }
  return rows;
}

// Returns the transpose of the eight rows of eight words. It takes three rounds of shuffles: pairs
// of rows, pairs of pairs, halves.
[[gnu::always_inline]] inline Rows transposed(const Rows& rows) {
  Rows pairs;
  for (size_t i = 0; i < kRow; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  Rows fours;
  for (const size_t i : {0, 1, 4, 5}) {
    const size_t to = i / 4 * 4 + i % 4 * 2;
    fours[to] = __builtin_shufflevector(pairs[i], pairs[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    fours[to + 1] = __builtin_shufflevector(pairs[i], pairs[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  Rows columns;
  for (size_t i = 0; i < kRow / 2; ++i) {
    columns[i] = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    columns[i + 4] = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  return columns;
}

// Sets to[column, row] = from[row, column], on the calling thread. The rows of `to` begin `to_step`
// numbers apart, those of `from` begin `step` numbers apart.
inline void transpose(float* to, int64_t to_step, const float* from, int64_t step, int64_t rows,
                      int64_t columns) {
  for (int64_t r = 0; r < rows; r += kRow) {
    int64_t c = 0;
    for (; r + kRow <= rows && c + kRow <= columns; c += kRow) {
      float* line = to + c * to_step + r;
      for (const Row& column : transposed(load_rows(from + r * step + c, step))) {
        store_row(line, column);
        line += to_step;
      }
    }
    for (; c < columns; ++c) {
      for (int64_t i = r; i < std::min(r + kRow, rows); ++i)
        to[c * to_step + i] = from[i * step + c];
    }
  }
}

}  // namespace penstock
