// kernels/cuda/attention/cudnn_attention.h -- CudnnAttention: attention in bf16 by cuDNN's fused
// kernels, which are the fastest, where the build has them (attention_graphs.h). It decides which
// calls it takes, makes the library's graphs once per shape, cuts a backward whose workspace would
// be too large into pieces of some samples or some heads (attention_cut.h), and submits the pieces.
//
// Dropout is the library's own, from a seed that depends on the call's stream (seed, step,
// micro-batch, layer) and on the piece's number: the same for every number of stages, schedule and
// recompute mode, but not the numbers that our kernels and the CPU draw. With dropout the forward
// is cut into the same pieces as the backward, since the library numbers the probabilities within
// each piece.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/attention_call.h"
#include "kernels/cuda/attention/attention_graphs.h"

namespace penstock {

class CudnnAttention {
 public:
  // Takes over `graphs`, the library's side; where it is null, no call is taken. The context must
  // outlive this.
  CudnnAttention(CudaContext& context, std::unique_ptr<AttentionGraphs> graphs)
      : context_(context), graphs_(std::move(graphs)) {}

  // Whether forward() and backward() take the call. The answer follows from its shape, options and
  // type alone, never from an address, so forward and backward, every step and every recompute
  // choose alike. Slow for a new shape: graphs are made.
  [[nodiscard]] bool takes(const AttentionCall& call, DType type);
  // Returns how the call is computed or, with `fused` false, why it is not taken.
  [[nodiscard]] AttentionPath path(const AttentionCall& call, DType type);

  // Compute what blocked_attention_forward() and blocked_attention_backward() do
  // (attention_call.h), for calls that takes() accepts. cuDNN wants tensors at multiples of 16
  // bytes: others go through copies.
  void forward(const AttentionCall& call, const AttentionInputs& in, void* out, float* logsumexp);
  void backward(const AttentionCall& call, const AttentionInputs& in,
                const AttentionResults& results, const AttentionGradients& gradients);

 private:
  struct Piece {
    AttentionPiece at;
    const AttentionGraph* graph;
  };
  // Graphs by the samples and the heads of keys of their pieces: one graph where all pieces have
  // one size, or two where sizes differ by one.
  using Graphs = std::map<std::pair<int64_t, int64_t>, std::unique_ptr<AttentionGraph>>;
  struct Plan {
    Graphs forward_graphs, backward_graphs;
    std::vector<Piece> forward, backward;
    AttentionPath path;
  };

  // Returns why the call is not taken without asking the library, or null where the library must be
  // asked.
  [[nodiscard]] const char* ruled_out(const AttentionCall& call, DType type) const;
  [[nodiscard]] const Plan& plan_of(const AttentionCall& call);
  [[nodiscard]] Plan new_plan(const AttentionExtents& whole, float scale);
  // Plan the pieces and graphs of the backward, then of the forward. Each returns false where the
  // library refuses the call, with the reason in the plan's path.
  [[nodiscard]] bool cut_backward(const AttentionExtents& whole, float scale, Plan& plan);
  [[nodiscard]] bool follow(const AttentionExtents& whole, float scale, Plan& plan);
  void submit(const AttentionGraph& graph, const AttentionAddresses& addresses);

  CudaContext& context_;
  std::unique_ptr<AttentionGraphs> graphs_;
  std::map<AttentionExtents, Plan> plans_;  // destroyed first
};

}  // namespace penstock
