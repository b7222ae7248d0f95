// kernels/cuda/attention/attention_graphs.h -- the interface between our side of fused attention
// and the library that computes it. Our side is CudnnAttention (cudnn_attention.h): it decides
// which calls it takes, cuts them into pieces and submits those. The library's side is cuDNN's
// frontend (cudnn_attention_graphs.cpp), nothing in a build without its headers
// (no_attention_graphs.cpp), or a plain loop in tests (tests/host_cuda). A graph is a program of
// the library that computes the forward or the backward of a piece of given extents.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>

#include "kernels/cuda/attention/attention_cut.h"

namespace penstock {

// Names the tensors of a graph. G is the gradient of Out. A forward reads Q, K and V and writes Out
// and Logsumexp; a backward reads these five and G and writes Dq, Dk and Dv. QueryLengths and
// KeyLengths (I32 [samples]: how many positions of each sample count) are read where
// AttentionExtents::lengths is true, Seed and Offset (I64 [1]: of the library's random numbers)
// where its dropout is above 0.
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
// Device addresses by slot, multiples of 16 bytes; null where a graph has no such tensor.
using AttentionAddresses = std::array<void*, kAttentionSlots>;

// A graph is made for extents (AttentionExtents: `heads` of the all_heads heads of a tensor, of
// `samples` samples) and given the addresses of the first elements of its part of the call's
// tensors. In Q, Out, G and Dq two positions lie all_heads * depth elements apart, in K, V, Dk and
// Dv all_kv_heads * depth; two samples lie as far apart as the positions of a sample take. The
// logsumexp (fp32, natural logarithms, of the scaled scores) is a dense tensor [samples, heads,
// queries] of the graph's own samples and heads: cuDNN before 9.26 takes no other. Which
// probabilities dropout keeps depends only on the seed, the offset and the probability's place
// within the graph, in forward and backward alike.
class AttentionGraph {
 public:
  virtual ~AttentionGraph() = default;
  // The bytes of workspace that run() must be given; with 0 its `workspace` may be null.
  [[nodiscard]] virtual int64_t workspace_bytes() const = 0;
  // Submits the graph to the stream and returns. Does only what may be captured into a CUDA graph.
  // Throws Error(Resource) where the library fails.
  virtual void run(cudaStream_t stream, const AttentionAddresses& addresses,
                   void* workspace) const = 0;
};

// The library's side: makes graphs. The elements of their tensors, but for the logsumexp, are bf16.
// A graph gives the same bits each time, and without dropout the results of a head do not depend on
// which other heads are computed with it.
class AttentionGraphs {
 public:
  virtual ~AttentionGraphs() = default;
  // Each returns a graph for these extents, which the caller owns and this must outlive, or null
  // where the library refuses them. Slow: plans are made. `scale` multiplies q k^T to give the
  // scores.
  [[nodiscard]] virtual std::unique_ptr<AttentionGraph> forward(const AttentionExtents& extents,
                                                                float scale) = 0;
  [[nodiscard]] virtual std::unique_ptr<AttentionGraph> backward(const AttentionExtents& extents,
                                                                 float scale) = 0;
  // How much workspace a piece may take (attention_cut.h).
  [[nodiscard]] virtual AttentionLimits limits() const { return {}; }
};

// Whether this build has a library. attention_graphs() returns its side of the interface, or null
// where there is none.
[[nodiscard]] bool has_attention_graphs();
[[nodiscard]] std::unique_ptr<AttentionGraphs> attention_graphs();

}  // namespace penstock
