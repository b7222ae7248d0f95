// kernels/cpu/attention/attention_panels.h -- copies rows of a tile's heads to dense matrices
// (panels) and back. Private to attention.cpp.
//
// q and out are [batch, T, heads * depth], k and v [batch, T, kv_heads * depth]: the heads of one
// position lie side by side, so a head's matrix has rows of stride heads * depth. oneDNN multiplies
// such matrices at three quarters of the speed that it has for dense ones in fp32, and at a third
// to two thirds of it in bf16 with AMX.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/loops/loops.h"

namespace penstock {

// Describes rows of some heads of some samples where they lie in q, k, v, out or the gradient of
// one of them: `first` is the first element of the first row, `rows` is per head, a row has `depth`
// elements.
template <class X>
struct HeadRows {
  X* first;
  int64_t samples, heads, rows, depth;
  int64_t sample_stride, head_stride, row_stride;  // elements
};

// Calls f(row of x, row of panel), two pointers to `depth` elements, for each row of x. The panel
// is dense, [samples, heads, rows, depth]. Several threads call f at a time.
template <class X, class P, class F>
void for_panel_rows(const CpuContext& context, const HeadRows<X>& x, P* panel, const F& f) {
  for_rows(context, x.samples * x.heads * x.rows, x.depth, [&](int64_t i) {
    const int64_t head = i / x.rows;
    f(x.first + head / x.heads * x.sample_stride + head % x.heads * x.head_stride +
          i % x.rows * x.row_stride,
      panel + i * x.depth);
  });
}

// Copies the rows of x to the panel.
template <class X, class P>
void load_panel(const CpuContext& context, P* panel, const HeadRows<X>& x) {
  for_panel_rows(context, x, panel,
                 [depth = x.depth](const X* from, P* to) { std::copy_n(from, depth, to); });
}

// Overwrites the rows of x with those of the panel; rounds where the panel's numbers are wider.
template <class X, class P>
void store_panel(const CpuContext& context, const HeadRows<X>& x, const P* panel) {
  for_panel_rows(context, x, panel, [depth = x.depth](X* to, const P* from) {
#pragma GCC ivdep
    for (int64_t c = 0; c < depth; ++c) to[c] = static_cast<X>(from[c]);
  });
}

// The rows of a tile in x, which is q, out or the gradient of one of them.
template <class X>
[[nodiscard]] HeadRows<X> query_rows(X* x, const AttentionSizes& s, const AttentionTile& tile) {
  const int64_t head = tile.kv_head * s.group() + tile.member;
  return {x + (tile.sample * s.queries + tile.row) * s.width() + head * s.depth,
          tile.samples,
          tile.heads,
          tile.rows,
          s.depth,
          s.queries * s.width(),
          s.group() * s.depth,
          s.width()};
}

// All keys of a tile's heads in x, which is k, v or the gradient of one of them.
template <class X>
[[nodiscard]] HeadRows<X> key_rows(X* x, const AttentionSizes& s, const AttentionTile& tile) {
  return {x + tile.sample * s.keys * s.kv_width() + tile.kv_head * s.depth,
          tile.samples,
          tile.heads,
          s.keys,
          s.depth,
          s.keys * s.kv_width(),
          s.depth,
          s.kv_width()};
}

}  // namespace penstock
