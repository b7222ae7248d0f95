// kernels/cuda/attention/attention_tile.h -- what the blocked attention kernels share: the sizes of
// their tiles, copies of tiles between device and shared memory, masks, dropout. For .cu files.
#pragma once

#include <limits>

#include "kernels/cuda/attention/attention_call.h"
#include "kernels/cuda/loops/dynamic_shared.h"
#include "kernels/cuda/loops/strip.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {

// The sizes of a kernel's tiles. A thread block owns kRows positions of one kind (queries or keys),
// 16 to a warp, and walks over the positions of the other kind in tiles of kOther. In shared memory
// the rows of a tile are padded with zeros to kDepth elements, which is at least the depth of a
// head.
template <class T, int kDepth, int kOther>
struct Tiling {
  static constexpr int kWarps = sizeof(T) == 4 && kDepth > 64 ? 2 : 4;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kRows = kStripRows * kWarps;
  static constexpr int kPack = 16 / static_cast<int>(sizeof(T));  // elements in 16 bytes
  // In shared memory, rows are kept 16 bytes further apart than they are long: eight of them read
  // side by side then hit all banks once.
  static constexpr int kStride = kDepth + kPack;         // elements of a tile of positions
  static constexpr int kScoreStride = kOther + 4;        // floats of a tile of scores
  static constexpr int kOperandStride = kOther + kPack;  // elements of a tile of scores as operand
  static constexpr int kStagingStride = kDepth + 4;      // floats of a strip on its way out
  static constexpr uint32_t kOwnBytes = kRows * kStride * sizeof(T);
  static constexpr uint32_t kOtherBytes = kOther * kStride * sizeof(T);
  static constexpr uint32_t kScoreBytes = kRows * kScoreStride * sizeof(float);
  // fp32 scores become operands where they are.
  static constexpr uint32_t kOperandBytes = sizeof(T) == 4 ? 0 : kRows * kOperandStride * sizeof(T);
  static constexpr uint32_t kStagingBytes = kRows * kStagingStride * sizeof(float);
};

// Hands out the block's dynamic shared memory piece by piece: next() returns the address of the
// next size_bytes. Every thread makes the same calls with an object of its own.
class SharedPieces {
 public:
  __device__ SharedPieces() : at_(dynamic_shared<char>()) {}
  template <class T>
  __device__ T* next(uint32_t size_bytes) {
    char* const piece = at_;
    at_ += size_bytes;
    return reinterpret_cast<T*>(piece);
  }

 private:
  char* at_;
};

// The matrix [extent, depth] of one head in a tensor [batch, extent, heads * depth], of this
// block's sample (blockIdx.z).
template <class T>
struct HeadMatrix {
  T* first;
  int extent;
  int64_t stride;  // elements between two positions

  __device__ HeadMatrix(T* tensor, int positions, int heads, int head, int depth)
      : first(tensor + (int64_t{blockIdx.z} * positions * heads + head) * depth),
        extent(positions),
        stride(int64_t{heads} * depth) {}
};
// The matrix of a head in q, out, or the gradient of either; and in k, v, or the gradient of
// either.
template <class T>
__device__ HeadMatrix<T> of_queries(T* tensor, const AttentionCall& call, int head) {
  return {tensor, call.queries, call.heads, head, call.depth};
}
template <class T>
__device__ HeadMatrix<T> of_keys(T* tensor, const AttentionCall& call, int kv_head) {
  return {tensor, call.keys, call.kv_heads, kv_head, call.depth};
}
// The head of keys that a head of queries reads.
__device__ inline int asked_by(const AttentionCall& call, int head) {
  return head / (call.heads / call.kv_heads);
}

// Copies the rows of positions begin to begin + kCount - 1 of the matrix to the rows of `tile`, in
// shared memory; rows and elements beyond the matrix become zeros. All threads of the block must
// call it, and synchronise before they read the tile. G is the kernel's Tiling.
template <int kCount, class G, class T>
__device__ void load_tile(T* tile, const HeadMatrix<const T>& matrix, int begin,
                          const AttentionCall& call) {
  constexpr int kPacks = (G::kStride - G::kPack) / G::kPack;  // of a row
  for (int i = static_cast<int>(threadIdx.x); i < kCount * kPacks; i += G::kThreads) {
    const int row = i / kPacks;
    const int column = i % kPacks * G::kPack;
    const int position = begin + row;
    uint4 pack = make_uint4(0, 0, 0, 0);
    if (position < matrix.extent && column < call.depth) {
      const T* from = matrix.first + position * matrix.stride + column;
      if (call.wide != 0) {
        pack = *reinterpret_cast<const uint4*>(from);
      } else {
        for (int e = 0; e < min(G::kPack, call.depth - column); ++e) {
          reinterpret_cast<T*>(&pack)[e] = from[e];
        }
      }
    }
    *reinterpret_cast<uint4*>(tile + row * G::kStride + column) = pack;
  }
}

// Overwrites the rows of kStripRows positions from `begin` on in the matrix with the warp's strip,
// rounded to T; what lies beyond the matrix is left out. `staging` is shared memory of this warp
// alone, kStripRows rows of G::kStagingStride floats. All lanes of the warp must call it.
template <class G, class T, int kDepth>
__device__ void store_strip(const HeadMatrix<T>& matrix, int begin, const Strip<T, kDepth>& strip,
                            float* staging, const AttentionCall& call) {
  strip.store(staging, G::kStagingStride);
  __syncwarp();
  constexpr int kPacks = kDepth / 4;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < kStripRows * kPacks; i += 32) {
    const int position = begin + i / kPacks;
    const int column = i % kPacks * 4;
    if (position >= matrix.extent || column >= call.depth) continue;
    const float* from = staging + i / kPacks * G::kStagingStride + column;
    T* to = matrix.first + position * matrix.stride + column;
    if (call.wide != 0) {
      store<4>(to, load<4>(from));
    } else {
      for (int e = 0; e < min(4, call.depth - column); ++e) narrow_to(to + e, from[e]);
    }
  }
  __syncwarp();
}

// The number of keys that this block's sample has.
__device__ inline int keys_of_sample(const AttentionCall& call) {
  if (call.lengths == nullptr) return call.keys;
  return max(0, min(call.lengths[blockIdx.z], call.keys));
}

// A query sees the keys [begin, end).
struct SeenRange {
  int begin, end;
  [[nodiscard]] __device__ bool has(int key) const { return key >= begin && key < end; }
};
__device__ inline SeenRange seen_keys(const AttentionCall& call, int query) {
  if (query >= call.queries) return {0, 0};
  const int all = keys_of_sample(call);
  const int end = call.causal != 0 ? min(query + 1, all) : all;
  int begin = call.window > 0 ? (call.causal != 0 ? query + 1 : end) - call.window : 0;
  if (call.starts != nullptr) {
    begin = max(begin, call.starts[int64_t{blockIdx.z} * call.queries + query]);
  }
  return {min(max(begin, 0), end), end};
}
// The range of keys that any query of [first, first + count) sees, its begin rounded down to a
// multiple of `step`. Neither end of seen_keys() decreases from query to query, so the first query
// gives the begin and the last one the end.
__device__ inline SeenRange seen_by_block(const AttentionCall& call, int first, int count,
                                          int step) {
  const int begin = seen_keys(call, first).begin;
  const int all = keys_of_sample(call);
  return {begin / step * step, call.causal != 0 ? min(all, first + count) : all};
}

// Returns where the warp's scores lie, in shared memory, when they are an operand of a product:
// fp32 ones stay in `scores`; bf16 ones are written to the next piece of shared memory, which this
// takes for all warps of the block.
template <class G, class T>
__device__ T* operand_of(float* scores, SharedPieces& shared) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return scores;
  } else {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    return shared.next<T>(G::kOperandBytes) + warp * kStripRows * G::kOperandStride;
  }
}

// The number of head `head` of this block's sample among the heads of all samples.
__device__ inline int64_t head_among_all(const AttentionCall& call, int head) {
  return int64_t{blockIdx.z} * call.heads + head;
}
// The dropout index of (head, query, key 0).
__device__ inline uint64_t first_element(const AttentionCall& call, int head, int query) {
  return static_cast<uint64_t>((head_among_all(call, head) * call.queries + query) * call.keys);
}
// What a probability is multiplied with: call.keep, or 0.
__device__ inline float dropout_factor(const AttentionCall& call, uint32_t word) {
  return uniform_of(word) >= call.rate ? call.keep : 0.0F;
}
__device__ inline float dropout_factor(const AttentionCall& call, uint64_t element) {
  return dropout_factor(call, philox(call.stream, element / 4)[element % 4]);
}
// The dropout factors of `element` and the three after it.
__device__ inline Floats<4> dropout_factors(const AttentionCall& call, uint64_t element) {
  Floats<4> factors;
  if (element % 4 == 0) {
    const auto words = philox(call.stream, element / 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) factors[i] = dropout_factor(call, words[i]);
  } else {
    for (int i = 0; i < 4; ++i) factors[i] = dropout_factor(call, element + i);
  }
  return factors;
}

// How the lanes of a warp share a strip of scores: this lane works on half number `half` (0 or 1)
// of row number `row`.
struct ScoreLane {
  int row = static_cast<int>(threadIdx.x) % kStripRows;
  int half = static_cast<int>(threadIdx.x) % 32 / kStripRows;
};

// e^x: the fast one is good to 2^-21 or so, far below what bf16 can tell apart.
template <class T>
__device__ float exponential(float x) {
  return sizeof(T) == 4 ? expf(x) : __expf(x);
}

// A score from the product of its query and its key: scaled and, if the call says so, capped.
__device__ inline float score_of(const AttentionCall& call, float product) {
  const float score = call.scale * product;
  return call.softcap > 0.0F ? call.softcap * tanhf(score * call.softcap_inverse) : score;
}
// The derivative of capping at such a score; 1 if none is capped.
__device__ inline float cap_slope(const AttentionCall& call, float score) {
  const float share = score * call.softcap_inverse;
  return 1.0F - share * share;
}

// Launches a kernel that needs more dynamic shared memory (shape.shared_bytes) than a kernel may
// have unless it asks for more.
template <class... P, class... A>
void launch_tiled(CudaContext& context, void (*kernel)(P...), const LaunchShape& shape,
                  const A&... arguments) {
  PENSTOCK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shape.shared_bytes)));
  launch(context.queue, kernel, shape, arguments...);
}

// Returns a launch of one block for every `rows` positions of each head of each sample: blockIdx.x
// counts the blocks of a head, blockIdx.y the heads, blockIdx.z the samples.
inline LaunchShape tiles_of(int positions, int heads, int rows, int threads, uint32_t shared_bytes,
                            const AttentionCall& call) {
  return {.grid = {blocks_for(positions, rows), static_cast<uint32_t>(heads),
                   static_cast<uint32_t>(call.batch)},
          .block = {static_cast<uint32_t>(threads), 1, 1},
          .shared_bytes = shared_bytes};
}

// Calls f.template operator()<T, kDepth>() with the element type, float or bfloat16, and the padded
// depth of a head: 32, 64 or kDeepest.
template <class F>
void with_tiling(DType type, int depth, const F& f) {
  const auto with_type = [&]<class T>(T) {
    if (depth <= 32) return f.template operator()<T, 32>();
    if (depth <= 64) return f.template operator()<T, 64>();
    return f.template operator()<T, kDeepest>();
  };
  if (type == DType::BF16) return with_type(bfloat16{});
  with_type(float{});
}

}  // namespace penstock
