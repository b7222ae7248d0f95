#include "kernels/cuda/attention/attention_tile.h"
#include "kernels/cuda/loops/reduce.h"

namespace penstock {
namespace {

// A block of positions of one head with two resident tiles (`own`: keys and values, or queries and
// the gradients of the output), and tiles of the other two that it walks over. Scores have a row
// for each position of the block.
template <class T, int kDepth>
struct BackwardBlock {
  static constexpr int kOther = kDepth > 64 ? 32 : 64;
  static constexpr int kScores = kOther / 2;  // of a tile, that a lane looks after
  using G = Tiling<T, kDepth, kOther>;
  static constexpr uint32_t kRowBytes = kOther * sizeof(float);  // one number per other position
  static constexpr uint32_t kSharedBytes =
      2 * G::kOwnBytes + 2 * G::kOtherBytes + G::kScoreBytes + G::kOperandBytes + 2 * kRowBytes;
  static_assert(G::kStagingBytes <= 2 * G::kOwnBytes && kScores <= 32);

  const AttentionCall& call;
  T *own_a, *own_b, *other_a, *other_b;  // in shared memory
  float *other_logsumexp, *other_dot;    // where the others are queries
  float* scores;                         // the warp's own, as is
  T* operand;
  int block_first, first;  // position of the block, of the warp
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
    scores = shared.next<float>(G::kScoreBytes) + warp * kStripRows * G::kScoreStride;
    operand = operand_of<G, T>(scores, shared);
    block_first = static_cast<int>(blockIdx.x) * G::kRows;
    first = block_first + warp * kStripRows;
  }
  __device__ int position() const { return first + lane.row; }
  // Of the lane's i-th score.
  __device__ int column(int i) const { return lane.half * kScores + i; }
  __device__ float score(int i) const { return scores[lane.row * G::kScoreStride + column(i)]; }
  __device__ void set_operand(int i, float x) const {
    narrow_to(operand + lane.row * G::kOperandStride + column(i), x);
  }

  // scores = the warp's rows of `own` times `other`, transposed.
  __device__ void multiply(const T* own, const T* other) {
    Strip<T, kOther> strip;
    strip.template add<kDepth, true>(own + (first - block_first) * G::kStride, G::kStride, other,
                                     G::kStride);
    __syncwarp();  // the operand, which may lie in the same place, has been used
    strip.store(scores, G::kScoreStride);
    __syncwarp();
  }
  // sums += operand times `other`.
  __device__ void add_product(Strip<T, kDepth>& sums, const T* other) {
    __syncwarp();
    sums.template add<kOther, false>(operand, G::kOperandStride, other, G::kStride);
  }

  // The probabilities of scores; `logsumexp(column)` is infinite where nothing is seen.
  template <class F>
  __device__ void take_probabilities(float (&p)[kScores], const F& logsumexp) const {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      p[i] = exponential<T>(score(i) * call.scale - logsumexp(column(i)));
    }
  }
  // What the dropout leaves of them; bit i of `kept` is of this lane's i-th score.
  __device__ void put_probabilities(const float (&p)[kScores], uint32_t kept) const {
#pragma unroll
    for (int i = 0; i < kScores; ++i) set_operand(i, p[i] * factor(kept, i));
  }
  // From the gradients of those, now in scores, the gradients of the scores before.
  template <class F>
  __device__ void put_gradients(const float (&p)[kScores], uint32_t kept, const F& dot) const {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      set_operand(i, call.scale * p[i] * (factor(kept, i) * score(i) - dot(column(i))));
    }
  }
  __device__ float factor(uint32_t kept, int i) const {
    return (kept >> i & 1U) != 0 ? call.keep : 0.0F;
  }

  // The resident tiles are used up by then, and become the way out.
  __device__ void store_out(const HeadMatrix<T>& matrix, const Strip<T, kDepth>& sums) const {
    auto* staging = reinterpret_cast<float*>(own_a);
    store_strip<G>(matrix, first, sums, staging + (first - block_first) * G::kStagingStride, call);
  }
};

constexpr float kUnseen = std::numeric_limits<float>::infinity();
constexpr uint32_t kAll = ~uint32_t{0};

__device__ int64_t head_of_block(const AttentionCall& call) {
  return int64_t{blockIdx.z} * call.heads + blockIdx.y;
}

// dk and dv of a block of keys, over the queries in ascending order.
template <class T, int kDepth>
__global__ void __launch_bounds__(BackwardBlock<T, kDepth>::G::kThreads)
    attention_backward_keys_kernel(AttentionCall call, T* dk, T* dv, const T* q, const T* k,
                                   const T* v, const T* g, const float* logsumexp,
                                   const float* dot) {
  using Block = BackwardBlock<T, kDepth>;
  using G = typename Block::G;
  constexpr int kQueries = Block::kOther;
  Block block(call);
  load_tile<G::kRows, G>(block.own_a, HeadMatrix<const T>(k, call.keys, call), block.block_first,
                         call);
  load_tile<G::kRows, G>(block.own_b, HeadMatrix<const T>(v, call.keys, call), block.block_first,
                         call);
  const int key = block.position();
  const bool exists = key < keys_of_sample(call);
  Strip<T, kDepth> dk_sum;
  Strip<T, kDepth> dv_sum;
  const int first_seeing = call.causal != 0 ? block.block_first / kQueries * kQueries : 0;
  for (int begin = first_seeing; begin < call.queries; begin += kQueries) {
    __syncthreads();
    load_tile<kQueries, G>(block.other_a, HeadMatrix<const T>(q, call.queries, call), begin, call);
    load_tile<kQueries, G>(block.other_b, HeadMatrix<const T>(g, call.queries, call), begin, call);
    for (int i = static_cast<int>(threadIdx.x); i < kQueries; i += G::kThreads) {
      const int64_t row = head_of_block(call) * call.queries + begin + i;
      const bool inside = begin + i < call.queries;
      block.other_logsumexp[i] = inside ? logsumexp[row] : kUnseen;
      block.other_dot[i] = inside ? dot[row] : 0.0F;
    }
    __syncthreads();
    float p[Block::kScores];
    block.multiply(block.own_a, block.other_a);
    block.take_probabilities(p, [&](int c) {
      const bool seen = exists && (call.causal == 0 || key <= begin + c);
      return seen ? block.other_logsumexp[c] : kUnseen;
    });
    uint32_t kept = kAll;
    if (call.rate > 0.0F) {
      for (int i = 0; i < Block::kScores; ++i) {
        const uint64_t element = first_element(call, begin + block.column(i)) + key;
        if (dropout_factor(call, element) == 0.0F) kept &= ~(1U << i);
      }
    }
    block.put_probabilities(p, kept);
    block.add_product(dv_sum, block.other_b);
    block.multiply(block.own_b, block.other_b);
    block.put_gradients(p, kept, [&](int c) { return block.other_dot[c]; });
    block.add_product(dk_sum, block.other_a);
  }
  __syncthreads();
  block.store_out(HeadMatrix<T>(dk, call.keys, call), dk_sum);
  block.store_out(HeadMatrix<T>(dv, call.keys, call), dv_sum);
}

// dq of a block of queries, over the keys in ascending order.
template <class T, int kDepth>
__global__ void __launch_bounds__(BackwardBlock<T, kDepth>::G::kThreads)
    attention_backward_queries_kernel(AttentionCall call, T* dq, const T* q, const T* k, const T* v,
                                      const T* g, const float* logsumexp, const float* dot) {
  using Block = BackwardBlock<T, kDepth>;
  using G = typename Block::G;
  constexpr int kKeys = Block::kOther;
  Block block(call);
  load_tile<G::kRows, G>(block.own_a, HeadMatrix<const T>(q, call.queries, call), block.block_first,
                         call);
  load_tile<G::kRows, G>(block.own_b, HeadMatrix<const T>(g, call.queries, call), block.block_first,
                         call);
  const int query = block.position();
  const int visible = visible_keys(call, query);
  const bool exists = query < call.queries;
  const int64_t row = head_of_block(call) * call.queries + query;
  const float row_logsumexp = exists ? logsumexp[row] : kUnseen;
  const float row_dot = exists ? dot[row] : 0.0F;
  const int all = keys_of_sample(call);
  const int end = call.causal != 0 ? min(all, block.block_first + G::kRows) : all;
  Strip<T, kDepth> dq_sum;
  for (int begin = 0; begin < end; begin += kKeys) {
    __syncthreads();
    load_tile<kKeys, G>(block.other_a, HeadMatrix<const T>(k, call.keys, call), begin, call);
    load_tile<kKeys, G>(block.other_b, HeadMatrix<const T>(v, call.keys, call), begin, call);
    __syncthreads();
    float p[Block::kScores];
    block.multiply(block.own_a, block.other_a);
    block.take_probabilities(p,
                             [&](int c) { return begin + c < visible ? row_logsumexp : kUnseen; });
    uint32_t kept = kAll;
    if (call.rate > 0.0F) {
      const uint64_t element = first_element(call, query) + begin + block.column(0);
      for (int i = 0; i < Block::kScores; i += 4) {
        const Floats<4> factors = dropout_factors(call, element + i);
        for (int e = 0; e < 4; ++e) {
          if (factors[e] == 0.0F) kept &= ~(1U << (i + e));
        }
      }
    }
    block.multiply(block.own_b, block.other_b);
    block.put_gradients(p, kept, [&](int) { return row_dot; });
    block.add_product(dq_sum, block.other_a);
  }
  __syncthreads();
  block.store_out(HeadMatrix<T>(dq, call.queries, call), dq_sum);
}

// dot[sample, head, query] = the sum of g out over the head: a warp to each.
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
    launch_tiled(context, &attention_backward_keys_kernel<T, kDepth>,
                 tiles_of(call.keys, G::kRows, G::kThreads, Block::kSharedBytes, call), call,
                 static_cast<T*>(gradients.dk), static_cast<T*>(gradients.dv), q, k, v, g,
                 results.logsumexp, dot.data<float>());
    launch_tiled(context, &attention_backward_queries_kernel<T, kDepth>,
                 tiles_of(call.queries, G::kRows, G::kThreads, Block::kSharedBytes, call), call,
                 static_cast<T*>(gradients.dq), q, k, v, g, results.logsumexp, dot.data<float>());
  });
}

}  // namespace penstock
