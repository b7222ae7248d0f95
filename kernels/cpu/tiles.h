// kernels/cpu/tiles.h -- copies of bf16 matrices in the orders that a processor with AMX multiplies
// fastest (tiled_operands.h): the first operand in rows that follow each other, the second in tiles
// of 32 rows by 64 columns,
//
//     tiles[columns / 64][rows / 32][16][64][2],
//
// a pair of rows side by side: oneDNN's BA16a64b2a. Columns are whole tiles; rows are filled
// up to whole tiles with zeros. All matrices are dense, except where rows are `step` elements
// apart.
#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"

namespace penstock {

// tiles = matrix[rows, columns]; fp32 numbers are rounded.
void copy_to_tiles(int threads, bfloat16* tiles, const float* matrix, int64_t rows,
                   int64_t columns);
void copy_to_tiles(int threads, bfloat16* tiles, const bfloat16* matrix, int64_t rows,
                   int64_t columns);
// to[columns, rows] = from[rows, columns], whose rows are `step` elements apart.
void copy_transposed(int threads, bfloat16* to, const bfloat16* from, int64_t rows, int64_t columns,
                     int64_t step);
// to[rows, columns] = from[rows, columns], whose rows are `step` elements apart.
void copy_rows(int threads, bfloat16* to, const bfloat16* from, int64_t rows, int64_t columns,
               int64_t step);

}  // namespace penstock
