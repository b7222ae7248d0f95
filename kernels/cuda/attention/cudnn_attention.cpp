#include "kernels/cuda/attention/cudnn_attention.h"

#include <algorithm>

#include "kernels/cuda/status.h"

namespace penstock {
namespace {

constexpr uintptr_t kAttentionAlignment = 16;  // of what the library reads and writes
constexpr int64_t kElement = 2;                // bytes

// `bytes` further on.
void* advanced(const void* address, int64_t bytes) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(address)) + bytes;
}

void copy(cudaStream_t stream, void* to, const void* from, int64_t size_bytes) {
  PENSTOCK_CUDA(
      cudaMemcpyAsync(to, from, static_cast<size_t>(size_bytes), cudaMemcpyDeviceToDevice, stream));
}

// Operands at addresses that the library takes: the tensors themselves wherever they can be.
class AlignedOperands {
 public:
  explicit AlignedOperands(CudaContext& context) : context_(context) {}

  [[nodiscard]] void* in(const void* tensor, int64_t size_bytes) {
    if (fits(tensor)) return advanced(tensor, 0);
    void* const standing_in = new_copy(size_bytes);
    context_.queue.call<&copy>(standing_in, tensor, size_bytes);
    return standing_in;
  }
  // Written to where it belongs by finish().
  [[nodiscard]] void* out(void* tensor, int64_t size_bytes) {
    if (fits(tensor)) return tensor;
    outputs_.push_back({tensor, new_copy(size_bytes), size_bytes});
    return outputs_.back().standing_in;
  }
  void finish() {
    for (const Output& o : outputs_) {
      context_.queue.call<&copy>(o.tensor, static_cast<const void*>(o.standing_in), o.size_bytes);
    }
  }

 private:
  struct Output {
    void *tensor, *standing_in;
    int64_t size_bytes;
  };
  static bool fits(const void* address) {
    return reinterpret_cast<uintptr_t>(address) % kAttentionAlignment == 0;
  }
  void* new_copy(int64_t size_bytes) {
    copies_.push_back(context_.scratch({size_bytes}, DType::U8));
    return copies_.back().raw();
  }

  CudaContext& context_;
  std::vector<Tensor> copies_;
  std::vector<Output> outputs_;
};

// Bytes of whole tensors.
int64_t query_bytes(const AttentionCall& c) {
  return int64_t{c.batch} * c.queries * c.heads * c.depth * kElement;
}
int64_t key_bytes(const AttentionCall& c) {
  return int64_t{c.batch} * c.keys * c.heads * c.depth * kElement;
}

void run(cudaStream_t stream, const AttentionGraph* graph, const AttentionAddresses& addresses,
         void* workspace) {
  graph->run(stream, addresses, workspace);
}

}  // namespace

const char* CudnnAttention::ruled_out(const AttentionCall& call, DType type) const {
  if (graphs_ == nullptr) return "this build lacks the headers of nvidia-cudnn-frontend";
  if (type != DType::BF16) return "elements are not bf16";
  if (call.rate > 0.0F) return "dropout";
  if (call.lengths != nullptr) return "key lengths";
  if (call.starts != nullptr) return "packed rows";
  if (call.window > 0) return "a window";
  if (call.kv_heads != call.heads) return "grouped queries";
  if (call.depth * kElement % kAttentionAlignment != 0)
    return "the elements of a head are no multiple of 8";
  if (call.batch == 0 || call.queries == 0 || call.keys == 0) return "there is nothing to compute";
  return nullptr;
}

bool CudnnAttention::takes(const AttentionCall& call, DType type) {
  return ruled_out(call, type) == nullptr && plan_of(call).path.fused;
}

AttentionPath CudnnAttention::path(const AttentionCall& call, DType type) {
  if (const char* why = ruled_out(call, type)) return {.why = why};
  return plan_of(call).path;
}

const CudnnAttention::Plan& CudnnAttention::plan_of(const AttentionCall& call) {
  const AttentionExtents whole{call.batch, call.heads, call.queries,    call.keys,
                               call.depth, call.heads, call.causal != 0};
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
  plan.forward = graphs_->forward(whole, scale);
  if (plan.forward == nullptr || !cut_backward(whole, scale, plan)) return plan;
  plan.path.fused = true;
  plan.path.why.clear();
  plan.path.pieces = static_cast<int64_t>(plan.pieces.size());
  plan.path.workspace_bytes = plan.forward->workspace_bytes();
  for (const auto& [extent, graph] : plan.backward) {
    plan.path.workspace_bytes = std::max(plan.path.workspace_bytes, graph->workspace_bytes());
  }
  return plan;
}

bool CudnnAttention::cut_backward(const AttentionExtents& whole, float scale, Plan& plan) {
  const auto graph_of = [&](int64_t samples, int64_t heads) -> const AttentionGraph* {
    const auto [at, is_new] = plan.backward.try_emplace({samples, heads});
    AttentionExtents some = whole;
    some.samples = samples;
    some.heads = heads;
    if (is_new) at->second = graphs_->backward(some, scale);
    return at->second.get();
  };
  const AttentionCut cut =
      cut_attention(whole.samples, whole.heads, graphs_->limits(),
                    [&](int64_t samples, int64_t heads) -> std::optional<int64_t> {
                      const AttentionGraph* graph = graph_of(samples, heads);
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
  for (const AttentionPiece& piece : pieces_of(cut, whole.samples, whole.heads)) {
    const AttentionGraph* graph = graph_of(piece.samples, piece.heads);
    if (graph == nullptr) return false;
    plan.pieces.push_back({piece, graph});
  }
  std::erase_if(plan.backward, [&](const auto& made) {
    return std::none_of(plan.pieces.begin(), plan.pieces.end(),
                        [&](const Piece& piece) { return piece.graph == made.second.get(); });
  });
  plan.path.samples = cut.samples;
  plan.path.heads = cut.heads;
  return true;
}

void CudnnAttention::forward(const AttentionCall& call, const AttentionInputs& in, void* out,
                             float* logsumexp) {
  const Plan& plan = plan_of(call);
  AlignedOperands aligned(context_);
  const int64_t sums = int64_t{call.batch} * call.heads * call.queries * int64_t{sizeof(float)};
  submit(*plan.forward, {aligned.in(in.q, query_bytes(call)), aligned.in(in.k, key_bytes(call)),
                         aligned.in(in.v, key_bytes(call)), aligned.out(out, query_bytes(call)),
                         aligned.out(logsumexp, sums)});
  aligned.finish();
}

// A head starts at a multiple of 16 bytes where its tensor does. Its row sums need not: with an odd
// number of queries they go through a copy.
void CudnnAttention::backward(const AttentionCall& call, const AttentionInputs& in,
                              const AttentionResults& results,
                              const AttentionGradients& gradients) {
  AlignedOperands aligned(context_);
  void* const q = aligned.in(in.q, query_bytes(call));
  void* const k = aligned.in(in.k, key_bytes(call));
  void* const v = aligned.in(in.v, key_bytes(call));
  void* const out = aligned.in(results.out, query_bytes(call));
  void* const g = aligned.in(results.g, query_bytes(call));
  void* const dq = aligned.out(gradients.dq, query_bytes(call));
  void* const dk = aligned.out(gradients.dk, key_bytes(call));
  void* const dv = aligned.out(gradients.dv, key_bytes(call));
  const int64_t head_bytes = call.depth * kElement;
  const int64_t head_sums = call.queries * int64_t{sizeof(float)};
  for (const auto& [piece, graph] : plan_of(call).pieces) {
    const int64_t first = piece.first_head * head_bytes;
    const int64_t queries = piece.first_sample * call.queries * call.heads * head_bytes + first;
    const int64_t keys = piece.first_sample * call.keys * call.heads * head_bytes + first;
    const int64_t sums = (piece.first_sample * call.heads + piece.first_head) * head_sums;
    submit(*graph,
           {advanced(q, queries), advanced(k, keys), advanced(v, keys), advanced(out, queries),
            aligned.in(advanced(results.logsumexp, sums), piece.samples * piece.heads * head_sums),
            advanced(g, queries), advanced(dq, queries), advanced(dk, keys), advanced(dv, keys)});
  }
  aligned.finish();
}

void CudnnAttention::submit(const AttentionGraph& graph, const AttentionAddresses& addresses) {
  Tensor workspace;
  if (graph.workspace_bytes() > 0) {
    workspace = context_.scratch({graph.workspace_bytes()}, DType::U8);
  }
  context_.queue.call<&run>(&graph, addresses, workspace.raw());
}

}  // namespace penstock
