// kernels/cpu/blocked_copy.h -- a weight from its plain layout into the blocks that the kernel
// library reads, and a gradient back.
//
// The library's own reorder of a filter costs as much as the convolution where images are small: it
// walks memory in strides. Here a tile of rows passes through a buffer in the first-level cache, so
// both sides are touched in order. A permutation (and one rounding to bf16): no bit depends on it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/bfloat16.h"

namespace penstock {

class BlockedCopy {
 public:
  // The plain array is dense [rows, columns, taps]; its element (r, c, t) is element row[r] +
  // column[c] + tap[t] of the blocked one. A linear weight has one tap, a filter kh x kw.
  struct Places {
    std::vector<int64_t> row, column, tap;
  };
  explicit BlockedCopy(Places places);

  // blocked = plain, rounded to T (float or bfloat16). Every element of `blocked` must be a place
  // of some element of the plain array (nothing is padded).
  template <class T>
  void pack(T* blocked, const float* plain, int threads) const;
  // plain += blocked
  void add(float* plain, const float* blocked, int threads) const;

 private:
  // Calls f(first row, rows, first column, columns) for every tile.
  template <class F>
  void for_tiles(int threads, const F& f) const;

  Places places_;
  int64_t tile_columns_;
  bool rows_adjacent_;  // rows of a tile lie side by side in the blocked array
};

}  // namespace penstock
