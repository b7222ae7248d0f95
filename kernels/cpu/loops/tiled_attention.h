// kernels/cpu/loops/tiled_attention.h -- multi-head attention in tiles of query rows: the products
// are oneDNN's, everything between them is one pass over a row of scores in the cache. The backward
// recomputes the probabilities from logsumexp (Dao et al. 2022). Private to attention.cpp.
#pragma once

#include "kernels/cpu/loops/attention_rows.h"
#include "kernels/cpu/loops/attention_tiles.h"
#include "kernels/cpu/onednn/onednn.h"

namespace penstock {

// One call of attention: its sizes, its masks, and the products of its tiles. T is float or
// bfloat16; scores and their gradients are fp32, what is multiplied is T.
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
        mask_(options.dropout, options.stream),
        score_block_(scratch(context, grid_.block_elements(), DType::F32)) {
    if constexpr (kNarrow) narrow_block_ = scratch(context, grid_.block_elements(), kType);
    if (mask.key_lengths != nullptr) view_.lengths = mask.key_lengths->data<int32_t>();
    if (mask.starts != nullptr) view_.starts = mask.starts->data<int32_t>();
  }

  void forward(T* out, float* logsumexp, const T* q, const T* k, const T* v) {
    auto* scores = score_block_.template data<float>();
    T* p = narrow(score_block_, narrow_block_);
    prepare_products(false);
    for_tiles(sizes_, grid_, view_, [&](const AttentionTile& tile) {
      multiply_scores(tile, scores, query_rows(q, tile), key_rows(k, tile), scale_);
      for_lines(tile, [&](const Line& line) {
        logsumexp[line.row] = probabilities_row(p + line.at, scores + line.at, line.seen, tile.keys,
                                                mask_, line.element);
      });
      context_.dnn.matmul(rows_plan(tile), query_rows(out, tile), p, key_rows(v, tile));
    });
  }

  void backward(T* dq, T* dk, T* dv, const T* g, const T* q, const T* k, const T* v, const T* out,
                const float* logsumexp) {
    const Tensor gradient_block = scratch(context_, grid_.block_elements(), DType::F32);
    Tensor narrow_gradient_block;
    if constexpr (kNarrow) {
      narrow_gradient_block = scratch(context_, grid_.block_elements(), kType);
    }
    auto* scores = score_block_.template data<float>();
    auto* dp = gradient_block.template data<float>();
    T* p = narrow(score_block_, narrow_block_);
    T* ds = narrow(gradient_block, narrow_gradient_block);
    const KeyGradient dk_sum(*this, dk);
    const KeyGradient dv_sum(*this, dv);
    prepare_products(true);
    for_tiles(sizes_, grid_, view_, [&](const AttentionTile& tile) {
      const T* tile_q = query_rows(q, tile);
      const T* tile_k = key_rows(k, tile);
      const T* tile_g = query_rows(g, tile);
      multiply_scores(tile, scores, tile_q, tile_k, scale_);
      multiply_scores(tile, dp, tile_g, key_rows(v, tile), 1.0F);
      for_lines(tile, [&](const Line& line) {
        const T* gi = g + line.position;
        const T* oi = out + line.position;
        const float dot = simd_sum(sizes_.depth, [gi, oi](int64_t c) {
          return static_cast<float>(gi[c]) * static_cast<float>(oi[c]);
        });
        score_gradients_row(p + line.at, ds + line.at, scores + line.at, dp + line.at,
                            logsumexp[line.row], dot, scale_, line.seen, tile.keys, mask_,
                            line.element);
      });
      dv_sum.add(tile, p, tile_g);
      dk_sum.add(tile, ds, tile_q);
      context_.dnn.matmul(rows_plan(tile), query_rows(dq, tile), ds, tile_k);
      if (tile.last) {
        dk_sum.store(tile);
        dv_sum.store(tile);
      }
    });
  }

 private:
  static constexpr DType kType = DTypeOf<T>::value;
  static constexpr bool kNarrow = kType != DType::F32;

  // One row of scores.
  struct Line {
    int64_t at;        // its first element in the score block
    int64_t row;       // (sample * heads + head) * queries + query
    int64_t position;  // its first element in q, out and their gradients
    int64_t element;   // the dropout index of the tile's first key
    SeenKeys seen;     // counted from the tile's first key
  };

  // dk or dv of a tile's heads. fp32 sums grow in place; bf16 ones in fp32 scratch, so that the
  // query blocks are added before anything is rounded.
  class KeyGradient {
   public:
    KeyGradient(const TiledAttention& attention, T* gradient)
        : on_(attention), gradient_(gradient) {
      if constexpr (kNarrow) {
        const AttentionGrid& grid = on_.grid_;
        sums_ = scratch(on_.context_,
                        grid.samples * grid.heads * on_.sizes_.keys * on_.sizes_.depth, DType::F32);
      }
    }
    // += block^T x, where x is the tile's rows of q or g; = for the first tile, of which keys that
    // it does not see are zero.
    void add(const AttentionTile& tile, const T* block, const T* x) const {
      if (tile.first) clear_before(tile);
      const MatmulPlan plan = on_.sums_plan(tile, !tile.first);
      on_.context_.dnn.matmul(plan, sums(tile) + tile.key * plan.c[2], block, x);
    }
    // After the last query block.
    void store(const AttentionTile& tile) const {
      if constexpr (kNarrow) {
        const AttentionSizes& sizes = on_.sizes_;
        const TileStrides to = key_strides(sizes);
        T* first = gradient_ + on_.first_of_keys(tile);
        for_rows(tile, sizes.keys, [&](int64_t matrix, int64_t key, const float* sum) {
          T* row = first + matrix / tile.heads * to[0] + matrix % tile.heads * to[1] + key * to[2];
#pragma GCC ivdep
          for (int64_t c = 0; c < sizes.depth; ++c) row[c] = static_cast<T>(sum[c]);
        });
      }
    }

   private:
    // Of the tile's heads, the first of key 0.
    [[nodiscard]] float* sums(const AttentionTile& tile) const {
      if constexpr (kNarrow) {
        return sums_.template data<float>();
      } else {
        return gradient_ + on_.first_of_keys(tile);
      }
    }
    // f(matrix, key, its sums) for keys 0 .. keys - 1 of the tile's heads.
    template <class F>
    void for_rows(const AttentionTile& tile, int64_t keys, const F& f) const {
      const int64_t depth = on_.sizes_.depth;
      const TileStrides of = on_.sum_strides(tile);
      float* const from = sums(tile);
      for_ranges(on_.context_, tile.samples * tile.heads * keys, depth,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t r = begin; r < end; ++r) {
                     const int64_t matrix = r / keys;
                     f(matrix, r % keys,
                       from + matrix / tile.heads * of[0] + matrix % tile.heads * of[1] +
                           r % keys * of[2]);
                   }
                 });
    }
    void clear_before(const AttentionTile& tile) const {
      for_rows(tile, tile.key, [&](int64_t /*matrix*/, int64_t /*key*/, float* sum) {
        std::fill(sum, sum + on_.sizes_.depth, 0.0F);
      });
    }

    const TiledAttention& on_;
    T* gradient_;
    Tensor sums_;
  };

  // Where the elements of type T go that were computed in the fp32 block `wide`.
  static T* narrow(const Tensor& wide, const Tensor& narrow_block) {
    if constexpr (kNarrow) {
      return narrow_block.template data<T>();
    } else {
      return wide.template data<T>();
    }
  }

  // The tile's first row in q, out and their gradients.
  template <class Element>
  [[nodiscard]] Element* query_rows(Element* x, const AttentionTile& tile) const {
    const int64_t head = tile.kv_head * sizes_.group() + tile.member;
    return x + (tile.sample * sizes_.queries + tile.row) * sizes_.width() + head * sizes_.depth;
  }
  // And in k and v.
  [[nodiscard]] const T* key_rows(const T* x, const AttentionTile& tile) const {
    return x + first_of_keys(tile) + tile.key * sizes_.kv_width();
  }
  // Key 0 of the tile's first head in k, v and their gradients.
  [[nodiscard]] int64_t first_of_keys(const AttentionTile& tile) const {
    return tile.sample * sizes_.keys * sizes_.kv_width() + tile.kv_head * sizes_.depth;
  }

  [[nodiscard]] MatmulPlan product(const AttentionTile& tile, int64_t m, int64_t n,
                                   int64_t k) const {
    MatmulPlan plan;
    plan.batch = {tile.samples, tile.heads};
    plan.m = m;
    plan.n = n;
    plan.k = k;
    plan.a_type = plan.b_type = plan.c_type = kType;
    return plan;
  }

  // Of dk or dv, as they are added up.
  [[nodiscard]] TileStrides sum_strides(const AttentionTile& tile) const {
    if constexpr (!kNarrow) return key_strides(sizes_);
    const int64_t matrix = sizes_.keys * sizes_.depth;
    return {tile.heads * matrix, matrix, sizes_.depth, 1};
  }

  // scale x y^T with x the tile's rows of q or g, y its rows of k or v.
  [[nodiscard]] MatmulPlan scores_plan(const AttentionTile& tile, float scale) const {
    MatmulPlan plan = product(tile, tile.rows, tile.keys, sizes_.depth);
    plan.a = query_strides(sizes_);
    plan.b = transposed(key_strides(sizes_));
    plan.c = block_strides(tile);
    plan.c_type = DType::F32;
    plan.scale = scale;
    return plan;
  }
  // A block times rows of k or v: rows of out or dq.
  [[nodiscard]] MatmulPlan rows_plan(const AttentionTile& tile) const {
    MatmulPlan plan = product(tile, tile.rows, sizes_.depth, tile.keys);
    plan.a = block_strides(tile);
    plan.b = key_strides(sizes_);
    plan.c = query_strides(sizes_);
    return plan;
  }
  // A block^T times rows of q or g: what it adds to dk or dv.
  [[nodiscard]] MatmulPlan sums_plan(const AttentionTile& tile, bool accumulate) const {
    MatmulPlan plan = product(tile, tile.keys, sizes_.depth, tile.rows);
    plan.a = transposed(block_strides(tile));
    plan.b = query_strides(sizes_);
    plan.c = sum_strides(tile);
    plan.c_type = DType::F32;
    plan.accumulate = accumulate;
    return plan;
  }

  // Packed rows see other keys in every mini-batch: the products of all the tiles that they may
  // come in, so that no late one makes the first of its extents.
  void prepare_products(bool backward) const {
    if (view_.starts == nullptr) return;
    for_tile_extents(sizes_, grid_, [&](const AttentionTile& tile) {
      context_.dnn.prepare(scores_plan(tile, scale_));
      context_.dnn.prepare(rows_plan(tile));
      if (!backward) return;
      context_.dnn.prepare(scores_plan(tile, 1.0F));
      for (const bool accumulate : {false, true}) {
        context_.dnn.prepare(sums_plan(tile, accumulate));
      }
    });
  }

  void multiply_scores(const AttentionTile& tile, float* block, const T* x, const T* y,
                       float scale) const {
    context_.dnn.matmul(scores_plan(tile, scale), block, x, y);
  }

  template <class F>
  void for_lines(const AttentionTile& tile, const F& f) const {
    for_ranges(context_, tile.lines(), tile.keys, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t query = tile.row + i % tile.rows;
        const int64_t kv_head = tile.kv_head + i / tile.rows % tile.heads;
        const int64_t head = kv_head * sizes_.group() + tile.member;
        const int64_t sample = tile.sample + i / (tile.rows * tile.heads);
        const int64_t row = (sample * sizes_.heads + head) * sizes_.queries + query;
        f(Line{i * tile.stride,
               row,
               (sample * sizes_.queries + query) * sizes_.width() + head * sizes_.depth,
               row * sizes_.keys + tile.key,
               {view_.begin(sample, query) - tile.key, view_.end(sample, query) - tile.key}});
      }
    });
  }

  const CpuContext& context_;
  AttentionSizes sizes_;
  AttentionGrid grid_;
  AttentionView view_;
  float scale_;
  RandomMask mask_;
  Tensor score_block_;
  Tensor narrow_block_;  // probabilities, where they are not fp32
};

}  // namespace penstock
