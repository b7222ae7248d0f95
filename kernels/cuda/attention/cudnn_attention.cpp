#include "kernels/cuda/attention/cudnn_attention.h"

#include <algorithm>

#include "kernels/cuda/attention/attention_facts.h"
#include "kernels/cuda/attention/attention_tensors.h"

namespace penstock {
namespace {

AttentionExtents extents_of(const AttentionCall& call) {
  return {.samples = call.batch,
          .queries = call.queries,
          .keys = call.keys,
          .depth = call.depth,
          .heads = call.heads,
          .all_heads = call.heads,
          .kv_heads = call.kv_heads,
          .all_kv_heads = call.kv_heads,
          .causal = call.causal != 0,
          .window = call.window < call.keys ? call.window : 0,
          .lengths = call.lengths != nullptr,
          .capped = call.softcap > 0.0F,
          .dropout = call.rate};
}

// Returns the extents of a part of the whole. The part has `samples` samples, `kv_heads` heads of
// keys, and all heads of queries that read these heads of keys.
AttentionExtents part_of(const AttentionExtents& whole, int64_t samples, int64_t kv_heads) {
  AttentionExtents some = whole;
  some.samples = samples;
  some.kv_heads = kv_heads;
  some.heads = kv_heads * (whole.heads / whole.kv_heads);
  return some;
}

void run(cudaStream_t stream, const AttentionGraph* graph, const AttentionAddresses& addresses,
         void* workspace) {
  graph->run(stream, addresses, workspace);
}

}  // namespace

const char* CudnnAttention::ruled_out(const AttentionCall& call, DType type) const {
  if (graphs_ == nullptr) return "this build lacks the headers of nvidia-cudnn-frontend";
  return why_not_fused(extents_of(call), type, call.starts != nullptr);
}

bool CudnnAttention::takes(const AttentionCall& call, DType type) {
  return ruled_out(call, type) == nullptr && plan_of(call).path.fused;
}

AttentionPath CudnnAttention::path(const AttentionCall& call, DType type) {
  if (const char* why = ruled_out(call, type)) return {.why = why};
  return plan_of(call).path;
}

const CudnnAttention::Plan& CudnnAttention::plan_of(const AttentionCall& call) {
  const AttentionExtents whole = extents_of(call);
  const auto [at, is_new] = plans_.try_emplace(whole);
  if (is_new) {
    at->second = new_plan(whole, call.scale);
    context_.made("attention of " + std::to_string(whole.samples) + " samples, " +
                  std::to_string(whole.heads) + " heads of " + std::to_string(whole.depth) + ", " +
                  std::to_string(whole.queries) + " by " + std::to_string(whole.keys) +
                  " positions: " + text_of(at->second.path));
  }
  return at->second;
}

CudnnAttention::Plan CudnnAttention::new_plan(const AttentionExtents& whole, float scale) {
  Plan plan;
  plan.path.why = "cuDNN does not take the shape";
  if (!cut_backward(whole, scale, plan) || !follow(whole, scale, plan)) return plan;
  plan.path.fused = true;
  plan.path.why.clear();
  plan.path.pieces = static_cast<int64_t>(plan.backward.size());
  for (const std::vector<Piece>* pieces : {&plan.forward, &plan.backward}) {
    for (const Piece& piece : *pieces) {
      plan.path.workspace_bytes =
          std::max(plan.path.workspace_bytes, piece.graph->workspace_bytes());
    }
  }
  return plan;
}

bool CudnnAttention::cut_backward(const AttentionExtents& whole, float scale, Plan& plan) {
  Graphs& graphs = plan.backward_graphs;
  const auto graph_of = [&](int64_t samples, int64_t kv_heads) -> const AttentionGraph* {
    const auto [at, is_new] = graphs.try_emplace({samples, kv_heads});
    if (is_new) at->second = graphs_->backward(part_of(whole, samples, kv_heads), scale);
    return at->second.get();
  };
  const AttentionCut cut =
      cut_attention(whole.samples, whole.kv_heads, graphs_->limits(),
                    [&](int64_t samples, int64_t kv_heads) -> std::optional<int64_t> {
                      const AttentionGraph* graph = graph_of(samples, kv_heads);
                      if (graph == nullptr) return std::nullopt;
                      return graph->workspace_bytes();
                    });
  if (!cut.possible()) {
    if (cut.workspace_bytes > 0) {
      plan.path.why = "one head would take cuDNN " + std::to_string(cut.workspace_bytes >> 20) +
                      " MiB of workspace";
    }
    return false;
  }
  for (const AttentionPiece& piece : pieces_of(cut, whole.samples, whole.kv_heads)) {
    const AttentionGraph* graph = graph_of(piece.samples, piece.heads);
    if (graph == nullptr) return false;
    plan.backward.push_back({piece, graph});
  }
  std::erase_if(graphs, [&](const auto& made) {
    return std::none_of(plan.backward.begin(), plan.backward.end(),
                        [&](const Piece& piece) { return piece.graph == made.second.get(); });
  });
  plan.path.samples = cut.samples;
  plan.path.heads = cut.heads * (whole.heads / whole.kv_heads);
  return true;
}

// Plans the forward, and returns false if cuDNN refuses it. The forward needs next to no workspace,
// so it stays whole. With dropout it is cut into the same pieces as the backward, because the mask
// that is drawn depends on the piece.
bool CudnnAttention::follow(const AttentionExtents& whole, float scale, Plan& plan) {
  std::vector<AttentionPiece> pieces = {{0, whole.samples, 0, whole.kv_heads}};
  if (whole.dropout > 0.0F) {
    pieces.clear();
    for (const Piece& piece : plan.backward) pieces.push_back(piece.at);
  }
  for (const AttentionPiece& piece : pieces) {
    const auto [at, is_new] = plan.forward_graphs.try_emplace({piece.samples, piece.heads});
    if (is_new) at->second = graphs_->forward(part_of(whole, piece.samples, piece.heads), scale);
    if (at->second == nullptr) return false;
    plan.forward.push_back({piece, at->second.get()});
  }
  return true;
}

void CudnnAttention::forward(const AttentionCall& call, const AttentionInputs& in, void* out,
                             float* logsumexp) {
  const Plan& plan = plan_of(call);
  AttentionTensors tensors(context_, call, std::ssize(plan.forward));
  tensors.reads(AttentionSlot::Q, in.q);
  tensors.reads(AttentionSlot::K, in.k);
  tensors.reads(AttentionSlot::V, in.v);
  tensors.writes(AttentionSlot::Out, out);
  tensors.writes_sums(logsumexp);
  for (size_t i = 0; i < plan.forward.size(); ++i) {
    submit(*plan.forward[i].graph, tensors.of(plan.forward[i].at, i));
  }
  tensors.finish();
  if (call.lengths == nullptr) return;
  blank_attention(context_, {.lengths = call.lengths,
                             .a = static_cast<bfloat16*>(out),
                             .b = nullptr,
                             .c = nullptr,
                             .a_elements = query_elements(call),
                             .b_elements = 0,
                             .logsumexp = logsumexp,
                             .sums = int64_t{call.heads} * call.queries,
                             .samples = call.batch});
}

void CudnnAttention::backward(const AttentionCall& call, const AttentionInputs& in,
                              const AttentionResults& results,
                              const AttentionGradients& gradients) {
  const Plan& plan = plan_of(call);
  AttentionTensors tensors(context_, call, std::ssize(plan.backward));
  tensors.reads(AttentionSlot::Q, in.q);
  tensors.reads(AttentionSlot::K, in.k);
  tensors.reads(AttentionSlot::V, in.v);
  tensors.reads(AttentionSlot::Out, results.out);
  tensors.reads(AttentionSlot::G, results.g);
  tensors.reads_sums(results.logsumexp);
  tensors.writes(AttentionSlot::Dq, gradients.dq);
  tensors.writes(AttentionSlot::Dk, gradients.dk);
  tensors.writes(AttentionSlot::Dv, gradients.dv);
  for (size_t i = 0; i < plan.backward.size(); ++i) {
    submit(*plan.backward[i].graph, tensors.of(plan.backward[i].at, i));
  }
  tensors.finish();
  if (call.lengths == nullptr) return;
  blank_attention(context_, {.lengths = call.lengths,
                             .a = static_cast<bfloat16*>(gradients.dq),
                             .b = static_cast<bfloat16*>(gradients.dk),
                             .c = static_cast<bfloat16*>(gradients.dv),
                             .a_elements = query_elements(call),
                             .b_elements = key_elements(call),
                             .logsumexp = nullptr,
                             .sums = 0,
                             .samples = call.batch});
}

void CudnnAttention::submit(const AttentionGraph& graph, const AttentionAddresses& addresses) {
  Tensor workspace;
  if (graph.workspace_bytes() > 0) {
    workspace = context_.scratch({graph.workspace_bytes()}, DType::U8);
  }
  context_.queue.call<&run>(&graph, addresses, workspace.raw());
}

}  // namespace penstock
