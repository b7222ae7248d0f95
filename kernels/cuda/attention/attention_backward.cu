#include "kernels/cuda/attention/attention_tile.h"
#include "kernels/cuda/loops/reduce.h"

namespace penstock {
namespace {

constexpr float kUnseen = std::numeric_limits<float>::infinity();

// Works on a block of positions of one head. Two tiles (`own`) stay resident: keys and values, or
// queries and the gradients of the output. The block walks over tiles of the other two tensors
// (`other`). Scores have a row for each position of the block.
template <class T, int kDepth>
struct BackwardBlock {
  static constexpr int kOther = kDepth > 64 ? 32 : 64;
  static constexpr int kScores = kOther / 2;  // scores of a tile that one lane works on
  using G = Tiling<T, kDepth, kOther>;
  static constexpr uint32_t kRowBytes = kOther * sizeof(float);  // one number per other position
  static constexpr uint32_t kSharedBytes =
      2 * G::kOwnBytes + 2 * G::kOtherBytes + G::kScoreBytes + G::kOperandBytes + 4 * kRowBytes;
  static_assert(G::kStagingBytes <= 2 * G::kOwnBytes && kScores <= 32);

  const AttentionCall& call;
  T *own_a, *own_b, *other_a, *other_b;  // in shared memory
  float *other_logsumexp, *other_dot;    // used if the other positions are queries
  SeenRange* other_seen;                 // the keys that each of those queries sees
  float* scores;                         // the scores of this warp
  T* operand;
  int block_first, first;  // first position of the block, and of the warp
  ScoreLane lane;

  __device__ explicit BackwardBlock(const AttentionCall& c) : call(c) {
    SharedPieces shared;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    own_a = shared.next<T>(G::kOwnBytes);
    own_b = shared.next<T>(G::kOwnBytes);
    other_a = shared.next<T>(G::kOtherBytes);
    other_b = shared.next<T>(G::kOtherBytes);
    other_logsumexp = shared.next<float>(kRowBytes);
    other_dot = shared.next<float>(kRowBytes);
    other_seen = shared.next<SeenRange>(2 * kRowBytes);
    scores = shared.next<float>(G::kScoreBytes) + warp * kStripRows * G::kScoreStride;
    operand = operand_of<G, T>(scores, shared);
    block_first = static_cast<int>(blockIdx.x) * G::kRows;
    first = block_first + warp * kStripRows;
  }
  __device__ int position() const { return first + lane.row; }
  // Loads logsumexp, dot and seen keys of the `other` positions, which are queries of a head from
  // `begin` on. All threads of the block have to call it.
  __device__ void load_rows(int begin, int head, const float* logsumexp, const float* dot) const {
    for (int i = static_cast<int>(threadIdx.x); i < kOther; i += G::kThreads) {
      const int64_t row = head_among_all(call, head) * call.queries + begin + i;
      const bool inside = begin + i < call.queries;
      other_logsumexp[i] = inside ? logsumexp[row] : kUnseen;
      other_dot[i] = inside ? dot[row] : 0.0F;
      other_seen[i] = seen_keys(call, begin + i);
    }
  }
  // Returns the column of the lane's i-th score.
  __device__ int column(int i) const { return lane.half * kScores + i; }
  __device__ float score(int i) const { return scores[lane.row * G::kScoreStride + column(i)]; }
  __device__ void set_operand(int i, float x) const {
    narrow_to(operand + lane.row * G::kOperandStride + column(i), x);
  }

  // Sets scores = the warp's rows of `own` times the transpose of `other`.
  __device__ void multiply(const T* own, const T* other) {
    Strip<T, kOther> strip;
    strip.template add<kDepth, true>(own + (first - block_first) * G::kStride, G::kStride, other,
                                     G::kStride);
    __syncwarp();  // the operand, which may lie in the same place, has been used
    strip.store(scores, G::kScoreStride);
    __syncwarp();
  }
  // Adds operand times `other` to sums.
  __device__ void add_product(Strip<T, kDepth>& sums, const T* other) {
    __syncwarp();
    sums.template add<kOther, false>(operand, G::kOperandStride, other, G::kStride);
  }

  // Sets p to the probabilities of this lane's scores. `logsumexp(column)` is infinite if the query
  // does not see the key, which makes the probability 0.
  template <class F>
  __device__ void take_probabilities(float (&p)[kScores], const F& logsumexp) const {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      p[i] = exponential<T>(score_of(call, score(i)) - logsumexp(column(i)));
    }
  }
  // Multiplies p by the slopes of soft-capping. `scores` has to hold the scores still.
  __device__ void times_slopes(float (&p)[kScores]) const {
    if (call.softcap == 0.0F) return;
#pragma unroll
    for (int i = 0; i < kScores; ++i) p[i] *= slope(score(i));
  }
  // Writes the probabilities after dropout as operands, and multiplies p by the slopes of
  // soft-capping. Bit i of `kept` says whether this lane's i-th score is kept.
  __device__ void put_probabilities(float (&p)[kScores], uint32_t kept) const {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const float product = score(i);  // before the operand, which may lie in its place
      set_operand(i, p[i] * factor(kept, i));
      if (call.softcap > 0.0F) p[i] *= slope(product);
    }
  }
  // Writes the gradients of the scores as operands. p has to be multiplied by the slopes, and
  // `scores` to hold the gradients of the probabilities.
  template <class F>
  __device__ void put_gradients(const float (&p)[kScores], uint32_t kept, const F& dot) const {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      set_operand(i, call.scale * p[i] * (factor(kept, i) * score(i) - dot(column(i))));
    }
  }
  __device__ float slope(float product) const {
    return cap_slope(call, score_of(call, product));
  }
  __device__ float factor(uint32_t kept, int i) const {
    return (kept >> i & 1U) != 0 ? call.keep : 0.0F;
  }

  // Writes the sums to the matrix. They pass through the memory of the resident tiles, which is not
  // read any more.
  __device__ void store_out(const HeadMatrix<T>& matrix, const Strip<T, kDepth>& sums) const {
    auto* staging = reinterpret_cast<float*>(own_a);
    store_strip<G>(matrix, first, sums, staging + (first - block_first) * G::kStagingStride, call);
  }
};

constexpr uint32_t kAll = ~uint32_t{0};

// Computes dk and dv of a block of keys. Both are sums over the heads of queries that read these
// keys and over the queries of each head, in ascending order.
template <class T, int kDepth>
__global__ void __launch_bounds__(BackwardBlock<T, kDepth>::G::kThreads)
    attention_backward_keys_kernel(AttentionCall call, T* dk, T* dv, const T* q, const T* k,
                                   const T* v, const T* g, const float* logsumexp,
                                   const float* dot) {
  using Block = BackwardBlock<T, kDepth>;
  using G = typename Block::G;
  constexpr int kQueries = Block::kOther;
  Block block(call);
  const int kv_head = static_cast<int>(blockIdx.y);
  load_tile<G::kRows, G>(block.own_a, of_keys(k, call, kv_head), block.block_first, call);
  load_tile<G::kRows, G>(block.own_b, of_keys(v, call, kv_head), block.block_first, call);
  const int key = block.position();
  Strip<T, kDepth> dk_sum;
  Strip<T, kDepth> dv_sum;
  const int group = call.heads / call.kv_heads;
  const int first_seeing = call.causal != 0 ? block.block_first / kQueries * kQueries : 0;
  for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (int begin = first_seeing; begin < call.queries; begin += kQueries) {
      // Queries from here on see only keys behind this block, so nothing is left to add.
      if (seen_keys(call, begin).begin >= block.block_first + G::kRows) break;
      __syncthreads();
      load_tile<kQueries, G>(block.other_a, of_queries(q, call, head), begin, call);
      load_tile<kQueries, G>(block.other_b, of_queries(g, call, head), begin, call);
      block.load_rows(begin, head, logsumexp, dot);
      __syncthreads();
      float p[Block::kScores];
      block.multiply(block.own_a, block.other_a);
      block.take_probabilities(p, [&](int c) {
        return block.other_seen[c].has(key) ? block.other_logsumexp[c] : kUnseen;
      });
      uint32_t kept = kAll;
      if (call.rate > 0.0F) {
        for (int i = 0; i < Block::kScores; ++i) {
          const uint64_t element = first_element(call, head, begin + block.column(i)) + key;
          if (dropout_factor(call, element) == 0.0F) kept &= ~(1U << i);
        }
      }
      block.put_probabilities(p, kept);
      block.add_product(dv_sum, block.other_b);
      block.multiply(block.own_b, block.other_b);
      block.put_gradients(p, kept, [&](int c) { return block.other_dot[c]; });
      block.add_product(dk_sum, block.other_a);
    }
  }
  __syncthreads();
  block.store_out(of_keys(dk, call, kv_head), dk_sum);
  block.store_out(of_keys(dv, call, kv_head), dv_sum);
}

// Computes dq of a block of queries, a sum over the keys in ascending order.
template <class T, int kDepth>
__global__ void __launch_bounds__(BackwardBlock<T, kDepth>::G::kThreads)
    attention_backward_queries_kernel(AttentionCall call, T* dq, const T* q, const T* k, const T* v,
                                      const T* g, const float* logsumexp, const float* dot) {
  using Block = BackwardBlock<T, kDepth>;
  using G = typename Block::G;
  constexpr int kKeys = Block::kOther;
  Block block(call);
  const int head = static_cast<int>(blockIdx.y);
  const int kv_head = asked_by(call, head);
  load_tile<G::kRows, G>(block.own_a, of_queries(q, call, head), block.block_first, call);
  load_tile<G::kRows, G>(block.own_b, of_queries(g, call, head), block.block_first, call);
  const int query = block.position();
  const SeenRange seen = seen_keys(call, query);
  const bool exists = query < call.queries;
  const int64_t row = head_among_all(call, head) * call.queries + query;
  const float row_logsumexp = exists ? logsumexp[row] : kUnseen;
  const float row_dot = exists ? dot[row] : 0.0F;
  const SeenRange range = seen_by_block(call, block.block_first, G::kRows, kKeys);
  Strip<T, kDepth> dq_sum;
  for (int begin = range.begin; begin < range.end; begin += kKeys) {
    __syncthreads();
    load_tile<kKeys, G>(block.other_a, of_keys(k, call, kv_head), begin, call);
    load_tile<kKeys, G>(block.other_b, of_keys(v, call, kv_head), begin, call);
    __syncthreads();
    float p[Block::kScores];
    block.multiply(block.own_a, block.other_a);
    block.take_probabilities(p,
                             [&](int c) { return seen.has(begin + c) ? row_logsumexp : kUnseen; });
    uint32_t kept = kAll;
    if (call.rate > 0.0F) {
      const uint64_t element = first_element(call, head, query) + begin + block.column(0);
      for (int i = 0; i < Block::kScores; i += 4) {
        const Floats<4> factors = dropout_factors(call, element + i);
        for (int e = 0; e < 4; ++e) {
          if (factors[e] == 0.0F) kept &= ~(1U << (i + e));
        }
      }
    }
    block.times_slopes(p);
    block.multiply(block.own_b, block.other_b);
    block.put_gradients(p, kept, [&](int) { return row_dot; });
    block.add_product(dq_sum, block.other_a);
  }
  __syncthreads();
  block.store_out(of_queries(dq, call, head), dq_sum);
}

// The kernel sets dot[sample, head, query] to the sum of g times out over the elements of the head.
// A warp computes one dot.
constexpr int kDotsPerBlock = 4;
template <class T>
__global__ void __launch_bounds__(kDotsPerBlock* kWarp)
    attention_dot_kernel(AttentionCall call, float* dot, const T* g, const T* out, int64_t dots) {
  const int64_t i = int64_t{blockIdx.x} * kDotsPerBlock + threadIdx.y;
  const int64_t position = i / call.heads;  // sample * queries + query
  const auto head = static_cast<int>(i % call.heads);
  float sum = 0.0F;
  if (i < dots) {
    for (int c = static_cast<int>(threadIdx.x); c < call.depth; c += kWarp) {
      sum += widened(g[i * call.depth + c]) * widened(out[i * call.depth + c]);
    }
  }
  sum = warp_reduce(sum, Plus{});
  if (i >= dots || threadIdx.x != 0) return;
  const int64_t sample = position / call.queries;
  dot[(sample * call.heads + head) * call.queries + position % call.queries] = sum;
}

}  // namespace

void blocked_attention_backward(CudaContext& context, const AttentionCall& call, DType type,
                                const AttentionInputs& in, const AttentionResults& results,
                                const AttentionGradients& gradients) {
  const int64_t dots = int64_t{call.batch} * call.heads * call.queries;
  const Tensor dot = context.scratch({dots}, DType::F32);
  with_tiling(type, call.depth, [&]<class T, int kDepth>() {
    using Block = BackwardBlock<T, kDepth>;
    using G = typename Block::G;
    const auto* q = static_cast<const T*>(in.q);
    const auto* k = static_cast<const T*>(in.k);
    const auto* v = static_cast<const T*>(in.v);
    const auto* g = static_cast<const T*>(results.g);
    const LaunchShape a_warp_each{.grid = {blocks_for(dots, kDotsPerBlock)},
                                  .block = {kWarp, kDotsPerBlock}};
    launch(context.queue, &attention_dot_kernel<T>, a_warp_each, call, dot.data<float>(), g,
           static_cast<const T*>(results.out), dots);
    launch_tiled(
        context, &attention_backward_keys_kernel<T, kDepth>,
        tiles_of(call.keys, call.kv_heads, G::kRows, G::kThreads, Block::kSharedBytes, call), call,
        static_cast<T*>(gradients.dk), static_cast<T*>(gradients.dv), q, k, v, g, results.logsumexp,
        dot.data<float>());
    launch_tiled(
        context, &attention_backward_queries_kernel<T, kDepth>,
        tiles_of(call.queries, call.heads, G::kRows, G::kThreads, Block::kSharedBytes, call), call,
        static_cast<T*>(gradients.dq), q, k, v, g, results.logsumexp, dot.data<float>());
  });
}

}  // namespace penstock
