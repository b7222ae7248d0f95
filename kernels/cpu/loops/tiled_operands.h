// kernels/cpu/loops/tiled_operands.h -- which bf16 products of linear layers are computed from
// copies of their operands, on a processor with AMX, and in which parts. Pure: by shape alone, so
// that bits repeat.
//
// oneDNN 2.6 with AMX computes a product a[m, k] b[k, n] fastest where the rows of a follow each
// other and b lies in tiles (kernels/cpu/tiles.h). Given other operands it copies blocks of both
// itself, more than once, by code that is slower than ours; and where k is large, one operand is
// read from memory again for each block of the other. On a Granite Rapids (peak 1,400 GFLOP/s) the
// weight gradient of 1024 rows, 1024 -> 4096 columns, went from 510 to 1030 GFLOP/s with its copies
// counted, the input gradient from 775 to 950. A forward gains less than the transposition of its
// weight costs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/loops/row_padding.h"

namespace penstock {

constexpr int64_t kTileRows = 32;     // rows of b in a tile, in pairs
constexpr int64_t kTileColumns = 64;  // columns of b in a tile

// Whether that one of the three products of y[rows, out] = x[rows, in] w[out, in]^T (forward and
// the two gradients) reads its b from a copy in tiles.
[[nodiscard]] constexpr bool reads_tiles(LinearProduct product, int64_t rows, int64_t in,
                                         int64_t out) {
  if (in % kTileColumns != 0) return false;
  switch (product) {
    case LinearProduct::Forward:
      return false;
    case LinearProduct::InputGradient:
      return rows >= 512 && in >= 512 && in * out >= 1 << 20;
    case LinearProduct::WeightGradient:
      // Left: the time that the copies take for each row of x and g. Right: the time that they
      // save. The unit is 10^-4 ns.
      return 2500 * out + 1600 * in < 12 * out * in;
  }
  return false;
}

// The size of the parts in which m or k, the extents of a product [m, k] [k, n], is worked on, so
// that what a part reads stays in a core's cache: the whole extent up to about 1,500, else parts of
// about a thousand (whole tiles' rows) that are nearly equal.
[[nodiscard]] constexpr int64_t tiled_part(int64_t extent) {
  constexpr int64_t kUsual = 1024;
  const int64_t parts = std::max<int64_t>(1, (extent + kUsual / 2) / kUsual);
  const int64_t size = (extent + parts - 1) / parts;
  return std::min(extent, (size + kTileRows - 1) / kTileRows * kTileRows);
}

// The scratch memory of a product [m, k] [k, n] that is computed from tiles.
struct TiledScratch {
  int64_t a = 0, b = 0;  // bf16 elements of the copies of a part of a (0: no copy) and a part of b
  int64_t sum = 0;       // fp32 elements, where parts of k are added up for a bf16 result; else 0
};
// `takes_a`: a is row-major, so that it can be read where it lies unless k is cut into parts; else
// it must be copied. `narrow`: the result is bf16.
[[nodiscard]] constexpr TiledScratch tiled_scratch(int64_t m, int64_t n, int64_t k, bool takes_a,
                                                   bool narrow) {
  const int64_t m_part = tiled_part(m);
  const int64_t k_part = tiled_part(k);
  const bool parts = k_part < k;
  const int64_t k_rows = (k_part + kTileRows - 1) / kTileRows * kTileRows;
  return {takes_a && !parts ? 0 : m_part * k_part, k_rows * n, narrow && parts ? m_part * n : 0};
}

}  // namespace penstock
