// kernels/cuda/attention/cudnn_attention.h -- CudnnAttention: attention in bf16 by cuDNN's fused
// kernels, which are the fastest, where the build has them (attention_graphs.h). It decides which
// calls it takes, makes graphs once per shape, cuts a backward whose workspace would be too large
// into samples and heads, and submits the pieces.
//
// Dropout is the library's own, from a seed that depends on the call's stream (seed, step,
// micro-batch, layer) and on the piece's number: the same for every number of stages, schedule and
// recompute mode, but not the numbers that our kernels and the CPU draw. With dropout the forward
// is cut as the backward is, since the library numbers probabilities within a graph.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/attention_call.h"
#include "kernels/cuda/attention/attention_graphs.h"

namespace penstock {

class CudnnAttention {
 public:
  // Takes no call where `graphs` is null. The context must outlive this.
  CudnnAttention(CudaContext& context, std::unique_ptr<AttentionGraphs> graphs)
      : context_(context), graphs_(std::move(graphs)) {}

  // Whether the call is taken, both ways: by its shape and type alone, never by an address, so that
  // forward and backward, every step and every recompute choose alike.
  [[nodiscard]] bool takes(const AttentionCall& call, DType type);
  // How the call is computed, or why it is not taken.
  [[nodiscard]] AttentionPath path(const AttentionCall& call, DType type);

  // Compute what blocked_attention_forward() and blocked_attention_backward() do, for calls that
  // are taken. Tensors that do not start at a multiple of 16 bytes, as cuDNN requires, go through
  // copies that do.
  void forward(const AttentionCall& call, const AttentionInputs& in, void* out, float* logsumexp);
  void backward(const AttentionCall& call, const AttentionInputs& in,
                const AttentionResults& results, const AttentionGradients& gradients);

 private:
  struct Piece {
    AttentionPiece at;
    const AttentionGraph* graph;
  };
  // The graphs by samples and heads of keys: one, or two where pieces differ by one of them.
  using Graphs = std::map<std::pair<int64_t, int64_t>, std::unique_ptr<AttentionGraph>>;
  struct Plan {
    Graphs forward_graphs, backward_graphs;
    std::vector<Piece> forward, backward;
    AttentionPath path;
  };

  // The reason that rules the call out before the library is asked; null where there is none.
  [[nodiscard]] const char* ruled_out(const AttentionCall& call, DType type) const;
  [[nodiscard]] const Plan& plan_of(const AttentionCall& call);
  [[nodiscard]] Plan new_plan(const AttentionExtents& whole, float scale);
  // False, with the reason in the plan's path, where the library refuses the call.
  [[nodiscard]] bool cut_backward(const AttentionExtents& whole, float scale, Plan& plan);
  [[nodiscard]] bool follow(const AttentionExtents& whole, float scale, Plan& plan);
  void submit(const AttentionGraph& graph, const AttentionAddresses& addresses);

  CudaContext& context_;
  std::unique_ptr<AttentionGraphs> graphs_;
  std::map<AttentionExtents, Plan> plans_;  // destroyed first
};

}  // namespace penstock
