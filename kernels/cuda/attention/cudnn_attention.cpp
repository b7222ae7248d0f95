#include "kernels/cuda/attention/cudnn_attention.h"

#include <algorithm>

#include "kernels/cuda/attention/attention_facts.h"
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
          .dropout = call.rate};
}

// Of a sample.
int64_t query_elements(const AttentionCall& call) {
  return int64_t{call.queries} * call.heads * call.depth;
}
int64_t key_elements(const AttentionCall& call) {
  return int64_t{call.keys} * call.kv_heads * call.depth;
}

// Of the whole, `samples` and `kv_heads` with the heads that ask them.
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

// The tensors of a call, and where a piece finds its part of each.
class CallTensors {
 public:
  CallTensors(CudaContext& context, const AttentionCall& call, int64_t pieces)
      : call_(call),
        aligned_(context),
        lengths_bytes_(call.lengths == nullptr ? 0 : (call.batch * 4 + 31) / 32 * 32),
        facts_(context.scratch({std::max<int64_t>(1, 2 * lengths_bytes_ + seeds_bytes(pieces))},
                               DType::U8)) {
    if (call.lengths == nullptr && call.rate == 0.0F) return;
    const RandomStream& s = call.stream;
    const auto joined = [](const std::array<uint32_t, 2>& words) {
      return uint64_t{words[1]} << 32 | words[0];
    };
    write_attention_facts(
        context, {.query_lengths = lengths_bytes_ == 0 ? nullptr : at<int32_t>(0),
                  .key_lengths = lengths_bytes_ == 0 ? nullptr : at<int32_t>(lengths_bytes_),
                  .lengths = call.lengths,
                  .seeds = call.rate > 0.0F ? at<AttentionSeed>(2 * lengths_bytes_) : nullptr,
                  .name = mix(joined(s.key)) ^ joined(s.counter),
                  .samples = call.batch,
                  .queries = call.queries,
                  .keys = call.keys,
                  .pieces = static_cast<int32_t>(pieces)});
  }

  void reads(AttentionSlot slot, const void* tensor) {
    whole_[index(slot)] = aligned_.in(tensor, whole_bytes(slot));
  }
  void writes(AttentionSlot slot, void* tensor) {
    whole_[index(slot)] = aligned_.out(tensor, whole_bytes(slot));
  }
  // The row sums of some heads start anywhere where the number of queries is odd: each piece's may
  // go through a copy of their own.
  void reads_sums(const float* logsumexp) { sums_read_ = logsumexp; }
  void writes_sums(float* logsumexp) { sums_written_ = logsumexp; }

  // Of piece number `i`.
  [[nodiscard]] AttentionAddresses of(const AttentionPiece& piece, size_t i) {
    AttentionAddresses part{};
    for (size_t slot = 0; slot < kAttentionSlots; ++slot) {
      if (whole_[slot] == nullptr) continue;
      part[slot] = advanced(whole_[slot], offset_bytes(static_cast<AttentionSlot>(slot), piece));
    }
    const int64_t first_sum =
        (piece.first_sample * call_.heads + piece.first_head * group()) * head_sums_bytes();
    const int64_t sums_bytes = piece.samples * piece.heads * group() * head_sums_bytes();
    part[index(AttentionSlot::Logsumexp)] =
        sums_written_ != nullptr ? aligned_.out(advanced(sums_written_, first_sum), sums_bytes)
                                 : aligned_.in(advanced(sums_read_, first_sum), sums_bytes);
    if (lengths_bytes_ > 0) {
      const int64_t first = piece.first_sample * int64_t{sizeof(int32_t)};
      const int64_t bytes = piece.samples * int64_t{sizeof(int32_t)};
      part[index(AttentionSlot::QueryLengths)] = aligned_.in(at<std::byte>(first), bytes);
      part[index(AttentionSlot::KeyLengths)] =
          aligned_.in(at<std::byte>(lengths_bytes_ + first), bytes);
    }
    if (call_.rate > 0.0F) {
      AttentionSeed* seed = at<AttentionSeed>(2 * lengths_bytes_) + i;
      part[index(AttentionSlot::Seed)] = &seed->seed;
      part[index(AttentionSlot::Offset)] = &seed->offset;
    }
    return part;
  }
  void finish() { aligned_.finish(); }

 private:
  static size_t index(AttentionSlot slot) { return static_cast<size_t>(slot); }
  static int64_t seeds_bytes(int64_t pieces) { return pieces * int64_t{sizeof(AttentionSeed)}; }
  template <class T>
  [[nodiscard]] T* at(int64_t offset) const {
    return static_cast<T*>(advanced(facts_.raw(), offset));
  }
  [[nodiscard]] int64_t group() const { return call_.heads / call_.kv_heads; }
  [[nodiscard]] int64_t head_bytes() const { return call_.depth * kElement; }
  [[nodiscard]] int64_t head_sums_bytes() const { return call_.queries * int64_t{sizeof(float)}; }
  static bool of_keys(AttentionSlot slot) {
    return slot == AttentionSlot::K || slot == AttentionSlot::V || slot == AttentionSlot::Dk ||
           slot == AttentionSlot::Dv;
  }
  [[nodiscard]] int64_t sample_bytes(AttentionSlot slot) const {
    return (of_keys(slot) ? key_elements(call_) : query_elements(call_)) * kElement;
  }
  [[nodiscard]] int64_t whole_bytes(AttentionSlot slot) const {
    return call_.batch * sample_bytes(slot);
  }
  // A head starts at a multiple of 16 bytes where its tensor does.
  [[nodiscard]] int64_t offset_bytes(AttentionSlot slot, const AttentionPiece& piece) const {
    const int64_t first_head = piece.first_head * (of_keys(slot) ? 1 : group());
    return piece.first_sample * sample_bytes(slot) + first_head * head_bytes();
  }

  const AttentionCall& call_;
  AlignedOperands aligned_;
  int64_t lengths_bytes_;  // of one of the two, up to where the next may begin
  Tensor facts_;           // both lengths, then the seeds
  AttentionAddresses whole_{};
  const float* sums_read_ = nullptr;
  float* sums_written_ = nullptr;
};

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

// The forward, which needs no workspace to speak of: whole, or with dropout cut as the backward is.
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
  CallTensors tensors(context_, call, std::ssize(plan.forward));
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
  CallTensors tensors(context_, call, std::ssize(plan.backward));
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
