// kernels/cpu/attention/attention_tiles.h -- how attention is cut into tiles. Pure arithmetic; the
// mathematics is in tiled_attention.h.
//
// A tile is the work on some query rows of some heads of some samples. All its products are between
// dense matrices in scratch memory. A panel is a copy of rows of q, k or v for the tile's heads
// (attention_panels.h), [samples, heads, rows, depth] for queries and [samples, heads, all keys,
// depth] for keys and values. A block is the tile's part of the scores or of the probabilities,
// [samples, heads, rows, keys].
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/matmul_plan.h"
#include "kernels/ops/attention_shape.h"

namespace penstock {

// Some query rows of some heads of some samples, and the range of keys that any of these rows sees.
// With grouped queries (several query heads read one head of keys) a tile has one query head of
// each group, so that it has as many query heads as heads of keys.
struct AttentionTile {
  int64_t sample, samples;  // the first sample, and how many there are
  int64_t kv_head, heads;   // the first head of keys, and how many there are
  int64_t member;           // query head of head of keys number i: (kv_head + i) * group + member
  int64_t row, rows;        // the first query row, and how many there are
  int64_t key, keys;        // the first key, and how many there are
  // Whether this is the first, and whether it is the last, of the tiles with these samples and
  // heads of keys, in the order of for_tiles().
  bool first, last;

  // The number of matrices of scores in the tile's block, and the number of their rows in all.
  [[nodiscard]] int64_t matrices() const { return samples * heads; }
  [[nodiscard]] int64_t lines() const { return matrices() * rows; }
};

// The extents that the tiles of a call have in common: samples, heads of keys, and query rows of
// each head (the last tile of a head may have fewer rows). A tile has at least `rows` rows of one
// head, however many keys they see. It has more heads, and then more samples, as long as its fp32
// scores stay within a budget of 128 Ki numbers (512 KiB) for each thread; a thread's cache then
// also holds their gradients, which are as large. `samples` and `heads` divide those of the call,
// so that a run has few distinct product shapes.
struct AttentionGrid {
  int64_t samples, heads, rows;  // heads: of keys
  // The number of elements of the largest block, of a panel of queries, and of a panel of keys.
  [[nodiscard]] int64_t block(const AttentionSizes& s) const {
    return samples * heads * rows * s.keys;
  }
  [[nodiscard]] int64_t query_panel(const AttentionSizes& s) const {
    return samples * heads * rows * s.depth;
  }
  [[nodiscard]] int64_t key_panel(const AttentionSizes& s) const {
    return samples * heads * s.keys * s.depth;
  }
};

// The largest divisor of `of` that is not above `at_most`; at least 1.
[[nodiscard]] inline int64_t largest_divisor(int64_t of, int64_t at_most) {
  for (int64_t d = std::min(of, at_most); d > 1; --d) {
    if (of % d == 0) return d;
  }
  return 1;
}

// Returns the extents of the tiles of a call. A tile of a causal call has a quarter of the query
// rows, but at least 64 and at most 128; other tiles have 128. Tiles with fewer rows compute fewer
// scores that the mask hides: with a quarter of the rows, 128 positions compute 1.5 times the
// scores that are seen, 256 and 512 positions 1.25 times; with 128 rows it would be 2, 1.5 and 1.25
// times. (Tiles of 32 rows would compute still fewer scores, but take longer, since products of few
// rows are slow.) `packed`: the call has AttentionMask::starts, so the first key that a query sees
// differs from sample to sample, and a tile has one sample.
[[nodiscard]] inline AttentionGrid attention_grid(const AttentionSizes& s, bool causal, bool packed,
                                                  int threads) {
  constexpr int64_t kBlockRows = 128;
  constexpr int64_t kLeastRows = 64;
  constexpr int64_t kTileElements = int64_t{128} << 10;  // a thread's: half of a MiB
  constexpr int64_t kStep = 16;                          // what products like multiples of
  const int64_t budget = kTileElements * threads;
  AttentionGrid grid{};
  const int64_t quarter = (s.queries / 4 + kStep - 1) / kStep * kStep;
  const int64_t rows = causal ? std::clamp(quarter, kLeastRows, kBlockRows) : kBlockRows;
  grid.rows = std::clamp<int64_t>(s.queries, 1, rows);  // one row of no queries: no tile has it
  const int64_t matrix = std::max<int64_t>(grid.rows * s.keys, 1);
  grid.heads = largest_divisor(s.kv_heads, budget / matrix);
  const bool all_heads = grid.heads == s.kv_heads && !packed;
  grid.samples = all_heads ? largest_divisor(s.batch, budget / (matrix * grid.heads)) : 1;
  return grid;
}

// The first key of every tile is a multiple of this many keys.
[[nodiscard]] inline int64_t first_key_step(const AttentionGrid& grid) {
  return std::max<int64_t>(64, grid.rows);
}

// The first key of a tile that begins at that sample and query row: the first one that `row` sees
// in any of the tile's samples (later rows see no earlier key), rounded down to a multiple of
// first_key_step(), so that a run has few distinct product shapes.
[[nodiscard]] inline int64_t first_key(const AttentionView& view, const AttentionGrid& grid,
                                       int64_t sample, int64_t row) {
  if (view.from_the_first()) return 0;
  const int64_t step = first_key_step(grid);
  int64_t first = view.keys;
  for (int64_t i = sample; i < sample + grid.samples; ++i) {
    first = std::min(first, view.begin(i, row));
  }
  return first / step * step;
}

// Calls f(tile) for every size of tile that a causal call may meet. The size depends on the tile's
// rows and on its number of keys, from its first key to its last row. The tiles given to f have the
// rows of the last full block of query rows, and those of the shorter block after it if there is
// one; for each of the two, every key that may be the first.
template <class F>
void for_tile_extents(const AttentionSizes& s, const AttentionGrid& grid, const F& f) {
  const int64_t left = s.queries % grid.rows;
  const int64_t step = first_key_step(grid);
  for (const int64_t rows : {grid.rows, left}) {
    if (rows == 0) continue;
    AttentionTile tile{};
    tile.samples = grid.samples;
    tile.heads = grid.heads;
    tile.row = rows == left ? s.queries - left : (s.queries / grid.rows - 1) * grid.rows;
    tile.rows = rows;
    for (tile.key = 0; tile.key <= tile.row; tile.key += step) {
      tile.keys = tile.row + tile.rows - tile.key;
      f(tile);
    }
  }
}

// Calls f(tile) for all tiles of a call, one after another. The blocks of query rows come from last
// to first: under a causal mask only the last one sees the last keys, so the first tile of its
// heads can overwrite the gradients of all keys, and the others add to them.
template <class F>
void for_tiles(const AttentionSizes& s, const AttentionGrid& grid, const AttentionView& view,
               const F& f) {
  const int64_t blocks = (s.queries + grid.rows - 1) / grid.rows;
  for (int64_t sample = 0; sample < s.batch; sample += grid.samples) {
    for (int64_t head = 0; head < s.kv_heads; head += grid.heads) {
      for (int64_t i = 0; i < s.group() * blocks; ++i) {
        const int64_t block = blocks - 1 - i % blocks;
        AttentionTile tile{};
        tile.sample = sample;
        tile.samples = grid.samples;
        tile.kv_head = head;
        tile.heads = grid.heads;
        tile.member = i / blocks;
        tile.row = block * grid.rows;
        tile.rows = std::min(grid.rows, s.queries - tile.row);
        tile.key = first_key(view, grid, sample, tile.row);
        tile.keys = (view.causal ? tile.row + tile.rows : s.keys) - tile.key;
        tile.first = i == 0;
        tile.last = i + 1 == s.group() * blocks;
        f(tile);
      }
    }
  }
}

// The products of a tile's panels and blocks. Panels of queries and blocks hold the tile's rows
// alone, panels of keys all keys of the call: products read the latter from the tile's first key
// on.
struct AttentionProducts {
  AttentionSizes sizes;
  DType type;  // of q, k, v, out and their gradients

  // Scores (scale q k^T) and their gradients (scale g v^T, with scale 1): a block, fp32.
  [[nodiscard]] MatmulPlan scores(const AttentionTile& tile, float scale) const {
    MatmulPlan plan = product(tile, tile.rows, tile.keys, sizes.depth);
    plan.a = queries(tile);
    plan.b = transposed(keys());
    plan.c = block(tile);
    plan.c_type = DType::F32;
    plan.scale = scale;
    return plan;
  }
  // Rows of out (block of probabilities times v) and of dq (block of gradients times k).
  [[nodiscard]] MatmulPlan rows(const AttentionTile& tile) const {
    MatmulPlan plan = product(tile, tile.rows, sizes.depth, tile.keys);
    plan.a = block(tile);
    plan.b = keys();
    plan.c = queries(tile);
    return plan;
  }
  // A tile's part of dk (block of gradients, transposed, times q) and of dv (block of
  // probabilities, transposed, times g), fp32. The first tile of its heads overwrites the sums, the
  // others add to them.
  [[nodiscard]] MatmulPlan sums(const AttentionTile& tile) const {
    MatmulPlan plan = product(tile, tile.keys, sizes.depth, tile.rows);
    plan.a = transposed(block(tile));
    plan.b = queries(tile);
    plan.c = keys();
    plan.c_type = DType::F32;
    plan.accumulate = !tile.first;
    return plan;
  }
  // Calls f(plan) for each product of the tile in a forward, or in a backward.
  template <class F>
  void for_all(const AttentionTile& tile, float scale, bool backward, const F& f) const {
    f(scores(tile, scale));
    f(rows(tile));
    if (!backward) return;
    f(scores(tile, 1.0F));
    f(sums(tile));
    f(sums(tile));
  }

 private:
  [[nodiscard]] static MatrixStrides block(const AttentionTile& tile) {
    return {tile.rows * tile.keys, tile.keys, 1};
  }
  [[nodiscard]] MatrixStrides queries(const AttentionTile& tile) const {
    return {tile.rows * sizes.depth, sizes.depth, 1};
  }
  [[nodiscard]] MatrixStrides keys() const { return {sizes.keys * sizes.depth, sizes.depth, 1}; }
  [[nodiscard]] static MatrixStrides transposed(const MatrixStrides& s) {
    return {s[0], s[2], s[1]};
  }
  [[nodiscard]] MatmulPlan product(const AttentionTile& tile, int64_t m, int64_t n,
                                   int64_t k) const {
    return {.batch = tile.matrices(),
            .m = m,
            .n = n,
            .k = k,
            .a_type = type,
            .b_type = type,
            .c_type = type};
  }
};

}  // namespace penstock
