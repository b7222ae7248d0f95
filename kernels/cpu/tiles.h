// kernels/cpu/tiles.h -- copies of bf16 matrices in the orders that a processor with AMX multiplies
// fastest (operands.cpp): the first operand in rows that follow each other, the second in tiles
// of 32 rows by 64 columns,
//
//     tiles[columns / 64][rows / 32][16][64][2].
//
// A tile has 16 pairs of rows; the two elements of a pair that are in one column lie side by side
// (oneDNN's BA16a64b2a). `columns` must be a multiple of 64. Rows that are missing in the last tile
// are filled with zeros, so `tiles` has room for rows up to a multiple of 32. Matrices are dense
// and row-major, except where rows are said to be `step` elements apart. All results are
// overwritten.
#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"

namespace penstock {

constexpr int64_t kTileRows = 32;  // in pairs
constexpr int64_t kTileColumns = 64;

// Copies matrix[rows, columns] to tiles. Elements are bf16, or fp32, which is rounded.
template <class Element>
void copy_to_tiles(int threads, bfloat16* tiles, const Element* matrix, int64_t rows,
                   int64_t columns);
// to[columns, rows] = from[rows, columns], whose rows are `step` elements apart.
void copy_transposed(int threads, bfloat16* to, const bfloat16* from, int64_t rows, int64_t columns,
                     int64_t step);
// to[rows, columns] = from[rows, columns], whose rows are `step` elements apart.
void copy_rows(int threads, bfloat16* to, const bfloat16* from, int64_t rows, int64_t columns,
               int64_t step);

}  // namespace penstock
