#include "kernels/cuda/attention/attention_tile.h"

namespace penstock {
namespace {

// Works on a block of queries of one head, and walks over tiles of that head's keys and values.
template <class T, int kDepth>
struct ForwardBlock {
  static constexpr int kKeys = sizeof(T) == 4 && kDepth > 64 ? 32 : 64;  // keys of a tile
  using G = Tiling<T, kDepth, kKeys>;
  static constexpr uint32_t kSharedBytes =
      G::kOwnBytes + 2 * G::kOtherBytes + G::kScoreBytes + G::kOperandBytes;
  static_assert(G::kStagingBytes <= 2 * G::kOtherBytes);

  const AttentionCall& call;
  T *queries, *key_tile, *value_tile;  // in shared memory
  float* scores;                       // the scores of this warp
  T* operand;
  int block_first, first;  // first query of the block, and of the warp
  ScoreLane lane;
  SeenRange seen;   // what this lane's query sees
  SeenRange range;  // what any query of the block sees

  __device__ explicit ForwardBlock(const AttentionCall& c) : call(c) {
    SharedPieces shared;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    queries = shared.next<T>(G::kOwnBytes);
    key_tile = shared.next<T>(G::kOtherBytes);
    value_tile = shared.next<T>(G::kOtherBytes);
    scores = shared.next<float>(G::kScoreBytes) + warp * kStripRows * G::kScoreStride;
    operand = operand_of<G, T>(scores, shared);
    // The last queries see the most keys under a causal mask. Their blocks take longest, so these
    // start first.
    block_first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * G::kRows;
    first = block_first + warp * kStripRows;
    seen = seen_keys(call, query());
    range = seen_by_block(call, block_first, G::kRows, kKeys);
  }
  __device__ int query() const { return first + lane.row; }
  __device__ int head() const { return static_cast<int>(blockIdx.y); }

  // Computes the warp's scores of the tile of keys.
  __device__ void multiply_scores() {
    Strip<T, kKeys> strip;
    strip.template add<kDepth, true>(queries + (first - block_first) * G::kStride, G::kStride,
                                     key_tile, G::kStride);
    strip.store(scores, G::kScoreStride);
    __syncwarp();
  }

  // Calls visit(c, scores) for every four scores of this lane's half of its row. `c` is the column
  // of the first of the four in the tile; the scores are scaled and capped.
  template <class Visit>
  __device__ void each_four(const Visit& visit) const {
    for (int c = lane.half * kKeys / 2; c < (lane.half + 1) * kKeys / 2; c += 4) {
      Floats<4> four = load<4>(scores + lane.row * G::kScoreStride + c);
      for (int i = 0; i < 4; ++i) four[i] = score_of(call, four[i]);
      visit(c, four);
    }
  }

  // Returns the logsumexp of this lane's row, computed in a first pass over the keys. Both lanes of
  // a row get the same bits.
  __device__ float logsumexp(const HeadMatrix<const T>& keys) {
    float top = -std::numeric_limits<float>::infinity();
    float sum = 0.0F;
    for (int begin = range.begin; begin < range.end; begin += kKeys) {
      __syncthreads();  // all threads are done with the tile before
      load_tile<kKeys, G>(key_tile, keys, begin, call);
      __syncthreads();
      multiply_scores();
      float tile_top = top;
      each_four([&](int c, const Floats<4>& s) {
        for (int i = 0; i < 4; ++i) {
          if (seen.has(begin + c + i)) tile_top = fmaxf(tile_top, s[i]);
        }
      });
      if (tile_top > top) sum *= exponential<T>(top - tile_top);
      top = tile_top;
      each_four([&](int c, const Floats<4>& s) {
        for (int i = 0; i < 4; ++i) {
          if (seen.has(begin + c + i)) sum += exponential<T>(s[i] - top);
        }
      });
    }
    const float other_top = __shfl_xor_sync(0xffffffffU, top, kStripRows);
    const float other_sum = __shfl_xor_sync(0xffffffffU, sum, kStripRows);
    const float both = fmaxf(top, other_top);
    const float share = sum > 0.0F ? sum * expf(top - both) : 0.0F;
    const float other_share = other_sum > 0.0F ? other_sum * expf(other_top - both) : 0.0F;
    const float result = both + logf(share + other_share);  // minus infinity if no key is seen
    return __shfl_sync(0xffffffffU, result, lane.row);      // the same bits in both lanes
  }

  // Returns the probabilities times the values, computed in a second pass over the keys.
  __device__ Strip<T, kDepth> mix(const HeadMatrix<const T>& keys,
                                  const HeadMatrix<const T>& values, float logsumexp) {
    Strip<T, kDepth> mixed;
    const uint64_t element = first_element(call, head(), query());
    for (int begin = range.begin; begin < range.end; begin += kKeys) {
      __syncthreads();
      load_tile<kKeys, G>(key_tile, keys, begin, call);
      load_tile<kKeys, G>(value_tile, values, begin, call);
      __syncthreads();
      multiply_scores();
      each_four([&](int c, const Floats<4>& s) {
        Floats<4> p;
        for (int i = 0; i < 4; ++i) {
          p[i] = seen.has(begin + c + i) ? exponential<T>(s[i] - logsumexp) : 0.0F;
        }
        if (call.rate > 0.0F) {
          const Floats<4> factors = dropout_factors(call, element + begin + c);
          for (int i = 0; i < 4; ++i) p[i] *= factors[i];
        }
        store<4>(operand + lane.row * G::kOperandStride + c, p);
      });
      __syncwarp();
      mixed.template add<kKeys, false>(operand, G::kOperandStride, value_tile, G::kStride);
      __syncwarp();
    }
    return mixed;
  }
};

template <class T, int kDepth>
__global__ void __launch_bounds__(ForwardBlock<T, kDepth>::G::kThreads)
    attention_forward_kernel(AttentionCall call, T* out, float* logsumexp, const T* q, const T* k,
                             const T* v) {
  using G = typename ForwardBlock<T, kDepth>::G;
  ForwardBlock<T, kDepth> block(call);
  const int kv_head = asked_by(call, block.head());
  const HeadMatrix<const T> keys = of_keys(k, call, kv_head);
  load_tile<G::kRows, G>(block.queries, of_queries(q, call, block.head()), block.block_first, call);
  const float row_logsumexp = block.logsumexp(keys);
  if (block.lane.half == 0 && block.query() < call.queries) {
    logsumexp[head_among_all(call, block.head()) * call.queries + block.query()] = row_logsumexp;
  }
  const auto mixed = block.mix(keys, of_keys(v, call, kv_head), row_logsumexp);
  __syncthreads();  // all tiles have been used: the result is stored by way of their memory
  auto* staging = reinterpret_cast<float*>(block.key_tile);
  store_strip<G>(of_queries(out, call, block.head()), block.first, mixed,
                 staging + (block.first - block.block_first) * G::kStagingStride, call);
}

}  // namespace

void blocked_attention_forward(CudaContext& context, const AttentionCall& call, DType type,
                               const AttentionInputs& in, void* out, float* logsumexp) {
  with_tiling(type, call.depth, [&]<class T, int kDepth>() {
    using Block = ForwardBlock<T, kDepth>;
    using G = typename Block::G;
    launch_tiled(
        context, &attention_forward_kernel<T, kDepth>,
        tiles_of(call.queries, call.heads, G::kRows, G::kThreads, Block::kSharedBytes, call), call,
        static_cast<T*>(out), logsumexp, static_cast<const T*>(in.q), static_cast<const T*>(in.k),
        static_cast<const T*>(in.v));
  });
}

}  // namespace penstock
