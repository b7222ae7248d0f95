// kernels/cuda/attention/attention_graphs.h -- the interface between our side of fused attention
// (cudnn_attention.h decides which calls it takes, cuts and submits them) and the library that
// computes it: cuDNN's frontend (cudnn_attention_graphs.cpp), nothing in a build without its
// headers (no_attention_graphs.cpp), a plain loop in tests (tests/host_cuda).
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>

#include "kernels/cuda/attention/attention_cut.h"

namespace penstock {

// The tensors of a call; a graph of the forward has no gradients (G: the gradient of Out).
// QueryLengths and KeyLengths (I32 [samples]: the positions of each sample), Seed and Offset (I64
// [1]: of the library's random numbers) are there only where the extents want them.
enum class AttentionSlot : uint8_t {
  Q,
  K,
  V,
  Out,
  Logsumexp,
  QueryLengths,
  KeyLengths,
  Seed,
  Offset,
  G,
  Dq,
  Dk,
  Dv
};
inline constexpr size_t kAttentionSlots = 13;
// The addresses by slot; null where a graph has no such tensor. Multiples of 16 bytes.
using AttentionAddresses = std::array<void*, kAttentionSlots>;

// A graph takes the addresses of the first element of its samples and heads: positions lie
// all_heads * depth elements apart, samples as many positions apart as a sample has. The logsumexp,
// fp32 [samples, heads, queries], is the natural one of the scaled scores; cuDNN before 9.26 takes
// it only when nothing lies between. Which probabilities dropout keeps depends on the seed, the
// offset and the probability's place within the graph alone, in forward and backward alike.
class AttentionGraph {
 public:
  virtual ~AttentionGraph() = default;
  [[nodiscard]] virtual int64_t workspace_bytes() const = 0;
  // Does only what may be captured into a CUDA graph. Throws Error(Resource).
  virtual void run(cudaStream_t stream, const AttentionAddresses& addresses,
                   void* workspace) const = 0;
};

// Elements are bf16; results repeat themselves to the bit, and without dropout the results of a
// head do not depend on which others are computed with it.
class AttentionGraphs {
 public:
  virtual ~AttentionGraphs() = default;
  // Null where the library refuses the call. Slow: plans are made. Must outlive its graphs.
  // `scale` multiplies the scores.
  [[nodiscard]] virtual std::unique_ptr<AttentionGraph> forward(const AttentionExtents& extents,
                                                                float scale) = 0;
  [[nodiscard]] virtual std::unique_ptr<AttentionGraph> backward(const AttentionExtents& extents,
                                                                 float scale) = 0;
  // The workspace that calls may take.
  [[nodiscard]] virtual AttentionLimits limits() const { return {}; }
};

// Whether this build has a library. Without one attention_graphs() is null.
[[nodiscard]] bool has_attention_graphs();
[[nodiscard]] std::unique_ptr<AttentionGraphs> attention_graphs();

}  // namespace penstock
