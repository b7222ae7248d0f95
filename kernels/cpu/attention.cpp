// kernels/cpu/attention.cpp -- softmax, and multi-head attention in tiles of query rows: the
// products are oneDNN's, everything between them is one pass over a row of scores in the cache.
// The backward recomputes the probabilities from logsumexp (Dao et al. 2022).
#include "kernels/cpu/loops/attention_rows.h"
#include "kernels/cpu/loops/attention_tiles.h"
#include "kernels/cpu/loops/loops.h"
#include "kernels/cpu/loops/random_mask.h"
#include "kernels/cpu/onednn/onednn.h"

namespace penstock {
namespace {

// One call of attention: its sizes, its masks, and the products of its tiles. T is float or
// bfloat16; scores and their gradients are fp32, what is multiplied is T.
template <class T>
class Attention {
 public:
  Attention(const CpuContext& context, const AttentionSizes& sizes, const Tensor* key_lengths,
            const AttentionOptions& options)
      : context_(context),
        sizes_(sizes),
        grid_(attention_grid(sizes, context.threads)),
        lengths_(key_lengths == nullptr ? nullptr : key_lengths->data<int32_t>()),
        causal_(options.causal),
        scale_(1.0F / std::sqrt(static_cast<float>(sizes.depth))),
        mask_(options.dropout, options.stream),
        score_block_(scratch(context, grid_.block_elements(), DType::F32)) {
    if constexpr (kNarrow) narrow_block_ = scratch(context, grid_.block_elements(), kType);
  }

  void forward(T* out, float* logsumexp, const T* q, const T* k, const T* v) {
    auto* scores = score_block_.template data<float>();
    T* p = narrow(score_block_, narrow_block_);
    for_tiles(sizes_, grid_, causal_, [&](const AttentionTile& tile) {
      multiply_scores(tile, scores, query_rows(q, tile), key_rows(k, tile), scale_);
      for_lines(tile, [&](const Line& line) {
        logsumexp[line.row] = probabilities_row(p + line.at, scores + line.at, line.visible,
                                                tile.keys, mask_, line.row * sizes_.keys);
      });
      MatmulPlan plan = product(tile, tile.rows, sizes_.depth, tile.keys);
      plan.a = block_strides(tile);
      plan.b = interleaved_strides(sizes_, sizes_.keys);
      plan.c = interleaved_strides(sizes_, sizes_.queries);
      context_.dnn.matmul(plan, query_rows(out, tile), p, key_rows(v, tile));
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
    for_tiles(sizes_, grid_, causal_, [&](const AttentionTile& tile) {
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
                            logsumexp[line.row], dot, scale_, line.visible, tile.keys, mask_,
                            line.row * sizes_.keys);
      });
      dv_sum.add(tile, p, tile_g);
      dk_sum.add(tile, ds, tile_q);
      MatmulPlan plan = product(tile, tile.rows, sizes_.depth, tile.keys);
      plan.a = block_strides(tile);
      plan.b = interleaved_strides(sizes_, sizes_.keys);
      plan.c = interleaved_strides(sizes_, sizes_.queries);
      context_.dnn.matmul(plan, query_rows(dq, tile), ds, tile_k);
      if (tile.row == 0) {
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
    int64_t visible;   // keys 0 .. visible - 1 are not masked
  };

  // dk or dv of a tile's heads. fp32 sums grow in place; bf16 ones in fp32 scratch, so that the
  // query blocks are added before anything is rounded.
  class KeyGradient {
   public:
    KeyGradient(const Attention& attention, T* gradient) : on_(attention), gradient_(gradient) {
      if constexpr (kNarrow) {
        const AttentionGrid& grid = on_.grid_;
        sums_ = scratch(on_.context_,
                        grid.samples * grid.heads * on_.sizes_.keys * on_.sizes_.depth, DType::F32);
      }
    }
    // += block^T x, where x is the tile's rows of q or g; = for the first tile.
    void add(const AttentionTile& tile, const T* block, const T* x) const {
      const AttentionSizes& sizes = on_.sizes_;
      MatmulPlan plan = on_.product(tile, tile.keys, sizes.depth, tile.rows);
      plan.a = transposed(block_strides(tile));
      plan.b = interleaved_strides(sizes, sizes.queries);
      plan.c = interleaved_strides(sizes, sizes.keys);
      plan.c_type = DType::F32;
      plan.accumulate = !tile.first;
      if constexpr (kNarrow) {
        plan.c = dense_strides(tile);
        on_.context_.dnn.matmul(plan, sums_.raw(), block, x);
      } else {
        on_.context_.dnn.matmul(plan, on_.key_rows(gradient_, tile), block, x);
      }
    }
    // After the last query block.
    void store(const AttentionTile& tile) const {
      if constexpr (kNarrow) {
        const AttentionSizes& sizes = on_.sizes_;
        const auto* from = sums_.template data<float>();
        const TileStrides to = interleaved_strides(sizes, sizes.keys);
        T* first = on_.key_rows(gradient_, tile);
        for_ranges(on_.context_, tile.samples * tile.heads * sizes.keys, sizes.depth,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t r = begin; r < end; ++r) {
                       const int64_t matrix = r / sizes.keys;
                       T* row = first + matrix / tile.heads * to[0] + matrix % tile.heads * to[1] +
                                r % sizes.keys * to[2];
                       const float* sum = from + r * sizes.depth;
#pragma GCC ivdep
                       for (int64_t c = 0; c < sizes.depth; ++c) row[c] = static_cast<T>(sum[c]);
                     }
                   });
      }
    }

   private:
    [[nodiscard]] TileStrides dense_strides(const AttentionTile& tile) const {
      const int64_t matrix = on_.sizes_.keys * on_.sizes_.depth;
      return {tile.heads * matrix, matrix, on_.sizes_.depth, 1};
    }

    const Attention& on_;
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
    return x + (tile.sample * sizes_.queries + tile.row) * sizes_.width() +
           tile.head * sizes_.depth;
  }
  // And in k, v and theirs, of which a tile sees the rows from 0 on.
  template <class Element>
  [[nodiscard]] Element* key_rows(Element* x, const AttentionTile& tile) const {
    return x + tile.sample * sizes_.keys * sizes_.width() + tile.head * sizes_.depth;
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

  // block = scale x y^T with x the tile's rows of q or g, y all rows of k or v.
  void multiply_scores(const AttentionTile& tile, float* block, const T* x, const T* y,
                       float scale) const {
    MatmulPlan plan = product(tile, tile.rows, tile.keys, sizes_.depth);
    plan.a = interleaved_strides(sizes_, sizes_.queries);
    plan.b = transposed(interleaved_strides(sizes_, sizes_.keys));
    plan.c = block_strides(tile);
    plan.c_type = DType::F32;
    plan.scale = scale;
    context_.dnn.matmul(plan, block, x, y);
  }

  template <class F>
  void for_lines(const AttentionTile& tile, const F& f) const {
    for_ranges(context_, tile.lines(), tile.keys, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t query = tile.row + i % tile.rows;
        const int64_t head = tile.head + i / tile.rows % tile.heads;
        const int64_t sample = tile.sample + i / (tile.rows * tile.heads);
        f(Line{i * tile.stride, (sample * sizes_.heads + head) * sizes_.queries + query,
               (sample * sizes_.queries + query) * sizes_.width() + head * sizes_.depth,
               visible(sample, query)});
      }
    });
  }

  [[nodiscard]] int64_t visible(int64_t sample, int64_t query) const {
    const int64_t keys = causal_ ? query + 1 : sizes_.keys;
    return lengths_ == nullptr ? keys : std::clamp<int64_t>(lengths_[sample], 0, keys);
  }

  const CpuContext& context_;
  AttentionSizes sizes_;
  AttentionGrid grid_;
  const int32_t* lengths_;
  bool causal_;
  float scale_;
  RandomMask mask_;
  Tensor score_block_;
  Tensor narrow_block_;  // probabilities, where they are not fp32
};

AttentionSizes sizes_of(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Tensor* key_lengths, const AttentionOptions& options) {
  require_alike(op, k, v);
  const bool fits = q.shape().rank() == 3 && k.shape().rank() == 3 && q.dim(0) == k.dim(0) &&
                    q.dim(2) == k.dim(2) && q.dtype() == k.dtype() && options.heads > 0 &&
                    q.dim(2) % options.heads == 0 && (!options.causal || q.dim(1) == k.dim(1));
  if (!fits) {
    fail_internal(std::string(op) + ": queries " + q.shape().text() + " and keys " +
                  k.shape().text() + " do not fit each other and " + std::to_string(options.heads) +
                  " heads");
  }
  if (!(options.dropout >= 0.0F && options.dropout < 1.0F)) {
    fail_input("a dropout rate is " + std::to_string(options.dropout) + "; give one in [0, 1)");
  }
  if (key_lengths != nullptr) require_elements(op, *key_lengths, q.dim(0));
  return {q.dim(0), q.dim(1), k.dim(1), options.heads, q.dim(2) / options.heads};
}

class CpuAttention final : public AttentionOps {
 public:
  explicit CpuAttention(CpuContext& context) : context_(context) {}

  void softmax_forward(Tensor& y, const Tensor& x) override {
    require_alike("softmax_forward", y, x);
    const int64_t width = x.shape().back();
    with_element_type(x.dtype(), "softmax_forward", [&]<class T>(T) {
      for_rows(x, [=, to = y.data<T>(), from = x.data<T>()](int64_t row) {
        softmax_row(to + row * width, from + row * width, width);
      });
    });
  }
  void softmax_backward(Tensor& dx, const Tensor& g, const Tensor& y) override {
    require_alike("softmax_backward", dx, y);
    require_alike("softmax_backward", g, y);
    const int64_t width = y.shape().back();
    with_element_type(y.dtype(), "softmax_backward", [&]<class T>(T) {
      for_rows(y, [=, to = dx.data<T>(), gradient = g.data<T>(), of = y.data<T>()](int64_t row) {
        softmax_backward_row(to + row * width, gradient + row * width, of + row * width, width);
      });
    });
  }

  void attention_forward(Tensor& out, Tensor& logsumexp, const Tensor& q, const Tensor& k,
                         const Tensor& v, const Tensor* key_lengths,
                         const AttentionOptions& options) override {
    constexpr const char* kOp = "attention_forward";
    const AttentionSizes sizes = sizes_of(kOp, q, k, v, key_lengths, options);
    require_alike(kOp, out, q);
    require_elements(kOp, logsumexp, sizes.batch * sizes.heads * sizes.queries);
    with_element_type(q.dtype(), kOp, [&]<class T>(T) {
      Attention<T>(context_, sizes, key_lengths, options)
          .forward(out.data<T>(), logsumexp.data<float>(), q.data<T>(), k.data<T>(), v.data<T>());
    });
  }
  void attention_backward(Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& g, const Tensor& q,
                          const Tensor& k, const Tensor& v, const Tensor& out,
                          const Tensor& logsumexp, const Tensor* key_lengths,
                          const AttentionOptions& options) override {
    constexpr const char* kOp = "attention_backward";
    const AttentionSizes sizes = sizes_of(kOp, q, k, v, key_lengths, options);
    for (const Tensor& t : {dq, g, out}) require_alike(kOp, t, q);
    for (const Tensor& t : {dk, dv}) require_alike(kOp, t, k);
    require_elements(kOp, logsumexp, sizes.batch * sizes.heads * sizes.queries);
    with_element_type(q.dtype(), kOp, [&]<class T>(T) {
      Attention<T>(context_, sizes, key_lengths, options)
          .backward(dq.data<T>(), dk.data<T>(), dv.data<T>(), g.data<T>(), q.data<T>(), k.data<T>(),
                    v.data<T>(), out.data<T>(), logsumexp.data<float>());
    });
  }

 private:
  template <class F>
  void for_rows(const Tensor& x, const F& f) {
    for_ranges(context_, x.shape().rows(), x.shape().back(), [&f](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) f(row);
    });
  }

  CpuContext& context_;
};

}  // namespace

std::unique_ptr<AttentionOps> cpu_attention_ops(CpuContext& context) {
  return std::make_unique<CpuAttention>(context);
}

}  // namespace penstock
