// kernels/cpu/attention/tiled_attention.h -- multi-head attention in tiles of query rows: oneDNN
// multiplies dense matrices, and everything between two products is one pass over a row of scores
// in the cache. The backward recomputes the probabilities from logsumexp (Dao et al. 2022). Private
// to attention.cpp.
#pragma once

#include "kernels/cpu/attention/attention_panels.h"
#include "kernels/cpu/attention/attention_rows.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/onednn/onednn.h"

namespace penstock {

// Computes one call of attention, tile by tile. T is float or bfloat16, the type of q, k, v, out
// and their gradients and of the operands of products; scores and their gradients are fp32. The
// context and the tensors of the mask must outlive the object.
template <class T>
class TiledAttention {
 public:
  TiledAttention(const CpuContext& context, const AttentionSizes& sizes, const AttentionMask& mask,
                 const AttentionOptions& options)
      : context_(context),
        sizes_(sizes),
        grid_(attention_grid(sizes, options.causal, mask.starts != nullptr, context.threads)),
        view_(attention_view(sizes, options)),
        scale_(1.0F / std::sqrt(static_cast<float>(sizes.depth))),
        softcap_(options.softcap),
        mask_(options.dropout, options.stream) {
    if (mask.key_lengths != nullptr) view_.lengths = mask.key_lengths->data<int32_t>();
    if (mask.starts != nullptr) view_.starts = mask.starts->data<int32_t>();
  }

  // Overwrites out and logsumexp. q and out are [samples, queries, heads * depth], k and v
  // [samples, keys, kv_heads * depth], logsumexp [samples, heads, queries], all row-major.
  void forward(T* out, float* logsumexp, const T* q, const T* k, const T* v) {
    const Block score_block(*this);
    const Tensor query_panel = scratch(context_, grid_.query_panel(sizes_), kType);
    const Tensor key_panel = scratch(context_, grid_.key_panel(sizes_), kType);
    const Tensor value_panel = scratch(context_, grid_.key_panel(sizes_), kType);
    float* scores = score_block.wide();
    T* p = score_block.narrow();
    T* rows = query_panel.data<T>();  // of q, then of out
    T* keys = key_panel.data<T>();
    T* values = value_panel.data<T>();
    prepare_products(false);
    for_tiles(sizes_, grid_, view_, [&](const AttentionTile& tile) {
      if (tile.first) {
        load_panel(context_, keys, key_rows(k, sizes_, tile));
        load_panel(context_, values, key_rows(v, sizes_, tile));
      }
      load_panel(context_, rows, query_rows(q, sizes_, tile));
      multiply_scores(tile, scores, rows, keys, scale_);
      for_lines(tile, [&](const Line& line) {
        softcap_.apply(scores + line.at, line.seen);
        logsumexp[line.row] = probabilities_row(p + line.at, scores + line.at, line.seen, tile.keys,
                                                mask_, line.element);
      });
      multiply_rows(tile, rows, p, values);
      store_panel(context_, query_rows(out, sizes_, tile), rows);
    });
  }

  // Overwrites dq, dk and dv, of the shapes of q, k and v. `g`: the gradient of out. out and
  // logsumexp are what forward() wrote for the same q, k, v and options.
  void backward(T* dq, T* dk, T* dv, const T* g, const T* q, const T* k, const T* v, const T* out,
                const float* logsumexp) {
    const Block score_block(*this);
    const Block gradient_block(*this);
    const Tensor query_panel = scratch(context_, grid_.query_panel(sizes_), kType);
    const Tensor gradient_panel = scratch(context_, grid_.query_panel(sizes_), kType);
    const Tensor key_panel = scratch(context_, grid_.key_panel(sizes_), kType);
    const Tensor value_panel = scratch(context_, grid_.key_panel(sizes_), kType);
    const Tensor key_sums = scratch(context_, grid_.key_panel(sizes_), DType::F32);
    const Tensor value_sums = scratch(context_, grid_.key_panel(sizes_), DType::F32);
    float* scores = score_block.wide();
    float* dp = gradient_block.wide();
    T* p = score_block.narrow();
    T* ds = gradient_block.narrow();
    T* rows = query_panel.data<T>();  // of q, then of dq
    T* gradients = gradient_panel.data<T>();
    T* keys = key_panel.data<T>();
    T* values = value_panel.data<T>();
    prepare_products(true);
    for_tiles(sizes_, grid_, view_, [&](const AttentionTile& tile) {
      if (tile.first) {
        load_panel(context_, keys, key_rows(k, sizes_, tile));
        load_panel(context_, values, key_rows(v, sizes_, tile));
      }
      load_panel(context_, rows, query_rows(q, sizes_, tile));
      load_panel(context_, gradients, query_rows(g, sizes_, tile));
      multiply_scores(tile, scores, rows, keys, scale_);
      multiply_scores(tile, dp, gradients, values, 1.0F);
      for_lines(tile, [&](const Line& line) {
        const float dot = simd_dot(g + line.position, out + line.position, sizes_.depth);
        softcap_.apply(scores + line.at, line.seen);
        score_gradients_row(p + line.at, ds + line.at, scores + line.at, dp + line.at,
                            logsumexp[line.row], dot, scale_, softcap_, line.seen, tile.keys, mask_,
                            line.element);
      });
      add_to_keys(tile, value_sums.data<float>(), p, gradients);
      add_to_keys(tile, key_sums.data<float>(), ds, rows);
      multiply_rows(tile, rows, ds, keys);
      store_panel(context_, query_rows(dq, sizes_, tile), rows);
      if (tile.last) {
        store_panel(context_, key_rows(dk, sizes_, tile), key_sums.data<float>());
        store_panel(context_, key_rows(dv, sizes_, tile), value_sums.data<float>());
      }
    });
  }

 private:
  static constexpr DType kType = DTypeOf<T>::value;
  static constexpr bool kNarrow = kType != DType::F32;

  // Scores or their gradients in fp32, and the numbers of type T made from them: the same memory if
  // T is fp32.
  class Block {
   public:
    explicit Block(const TiledAttention& on)
        : wide_(scratch(on.context_, on.grid_.block(on.sizes_), DType::F32)),
          narrow_(kNarrow ? scratch(on.context_, on.grid_.block(on.sizes_), kType) : wide_) {}
    [[nodiscard]] float* wide() const { return wide_.data<float>(); }
    [[nodiscard]] T* narrow() const { return narrow_.data<T>(); }

   private:
    Tensor wide_, narrow_;
  };

  // One row of scores.
  struct Line {
    int64_t at;        // its first element in the block
    int64_t row;       // (sample * heads + head) * queries + query
    int64_t position;  // its first element in q, out and their gradients
    int64_t element;   // the dropout index of the tile's first key
    SeenKeys seen;     // counted from the tile's first key
  };

  // The address of the tile's first key in a panel of keys.
  template <class P>
  [[nodiscard]] P* seen_keys(P* panel, const AttentionTile& tile) const {
    return panel + tile.key * sizes_.depth;
  }

  // Packed rows see other keys in every mini-batch: the products of all tiles that may come are
  // prepared, so that no late tile makes the first product of its extents.
  void prepare_products(bool backward) const {
    if (view_.starts == nullptr) return;
    for_tile_extents(sizes_, grid_, [&](AttentionTile tile) {
      for (const bool first : {false, true}) {
        tile.first = first;
        products_.for_all(tile, scale_, backward,
                          [&](const MatmulPlan& plan) { context_.dnn.prepare(plan); });
      }
    });
  }

  void multiply_scores(const AttentionTile& tile, float* block, const T* rows, const T* keys,
                       float scale) const {
    context_.dnn.matmul(products_.scores(tile, scale), block, rows, seen_keys(keys, tile));
  }
  void multiply_rows(const AttentionTile& tile, T* rows, const T* block, const T* keys) const {
    context_.dnn.matmul(products_.rows(tile), rows, block, seen_keys(keys, tile));
  }
  // sums += block^T rows, for the tile's keys. The first tile of its heads overwrites the sums
  // instead, and those of the keys before its first one with 0.
  void add_to_keys(const AttentionTile& tile, float* sums, const T* block, const T* rows) const {
    if (tile.first) {
      const int64_t matrix = sizes_.keys * sizes_.depth;
      for (int64_t i = 0; i < tile.matrices(); ++i) {
        std::fill_n(sums + i * matrix, tile.key * sizes_.depth, 0.0F);
      }
    }
    context_.dnn.matmul(products_.sums(tile), seen_keys(sums, tile), block, rows);
  }

  template <class F>
  void for_lines(const AttentionTile& tile, const F& f) const {
    for_rows(context_, tile.lines(), tile.keys, [&](int64_t i) {
      const int64_t query = tile.row + i % tile.rows;
      const int64_t kv_head = tile.kv_head + i / tile.rows % tile.heads;
      const int64_t head = kv_head * sizes_.group() + tile.member;
      const int64_t sample = tile.sample + i / (tile.rows * tile.heads);
      const int64_t row = (sample * sizes_.heads + head) * sizes_.queries + query;
      f(Line{i * tile.keys,
             row,
             (sample * sizes_.queries + query) * sizes_.width() + head * sizes_.depth,
             row * sizes_.keys + tile.key,
             {view_.begin(sample, query) - tile.key, view_.end(sample, query) - tile.key}});
    });
  }

  const CpuContext& context_;
  AttentionSizes sizes_;
  AttentionProducts products_{sizes_, kType};
  AttentionGrid grid_;
  AttentionView view_;
  float scale_;
  Softcap softcap_;
  RandomMask mask_;
};

}  // namespace penstock
