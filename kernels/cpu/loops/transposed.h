// kernels/cpu/loops/transposed.h -- transposes eight by eight words of 4 bytes in registers.
#pragma once

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

}  // namespace penstock
