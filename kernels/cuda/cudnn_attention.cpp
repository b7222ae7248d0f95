// kernels/cuda/cudnn_attention.cpp -- attention as graphs of cuDNN's frontend: built once per
// shape, run as one library call each way.
#include "kernels/cuda/cudnn_attention.h"

#include <cudnn_frontend.h>

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "kernels/error.h"

namespace penstock {
namespace {

namespace frontend = cudnn_frontend;
using Graph = frontend::graph::Graph;
using TensorName = std::shared_ptr<frontend::graph::Tensor_attributes>;

// The deterministic gradient keeps a matrix of queries by keys per head: samples are then taken a
// few at a time.
constexpr int64_t kWorkspaceLimit = int64_t{256} << 20;

enum Slot : uint8_t { kQ, kK, kV, kOut, kLogsumexp, kG, kDq, kDk, kDv, kSlots };
// Null where a graph has no such tensor.
using Addresses = std::array<void*, kSlots>;

struct Extents {
  int64_t samples, queries, keys, heads, depth;
  bool causal;
  // NOLINTNEXTLINE(modernize-use-nullptr): there is none here
  auto operator<=>(const Extents&) const = default;
};

struct Built {
  std::unique_ptr<Graph> graph;  // null: cuDNN does not take it
  int64_t workspace_bytes = 0;
};

// cuDNN names axes [sample, head, position, element of the head]; ours are strides of them.
frontend::graph::Tensor_attributes positions(const char* name, Slot slot, const Extents& e,
                                             int64_t extent) {
  const int64_t width = e.heads * e.depth;
  frontend::graph::Tensor_attributes tensor;
  tensor.set_name(name).set_uid(slot).set_dim({e.samples, e.heads, extent, e.depth});
  tensor.set_stride({extent * width, e.depth, width, 1});
  return tensor;
}
frontend::graph::Tensor_attributes row_sums(const Extents& e) {
  frontend::graph::Tensor_attributes tensor;
  tensor.set_name("logsumexp").set_uid(kLogsumexp).set_data_type(frontend::DataType_t::FLOAT);
  tensor.set_dim({e.samples, e.heads, e.queries, 1});
  tensor.set_stride({e.heads * e.queries, e.queries, 1, 1});
  return tensor;
}
// Makes a result of the graph a tensor of ours.
void expose(const TensorName& result, const frontend::graph::Tensor_attributes& as) {
  result->set_output(true).set_uid(as.get_uid());
  result->set_dim(as.get_dim()).set_stride(as.get_stride());
}

std::unique_ptr<Graph> new_graph() {
  auto graph = std::make_unique<Graph>();
  graph->set_io_data_type(frontend::DataType_t::BFLOAT16)
      .set_intermediate_data_type(frontend::DataType_t::FLOAT)
      .set_compute_data_type(frontend::DataType_t::FLOAT);
  return graph;
}

Built built(std::unique_ptr<Graph> graph, cudnnHandle_t handle) {
  if (!graph->build(handle, {frontend::HeurMode_t::A}).is_good()) return {};
  const int64_t workspace_bytes = graph->get_workspace_size();
  return {std::move(graph), workspace_bytes};
}

Built build_forward(cudnnHandle_t handle, const Extents& e, float scale) {
  auto graph = new_graph();
  const auto how = frontend::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(true)
                       .set_attn_scale(scale)
                       .set_causal_mask(e.causal);
  const auto [out, sums] = graph->sdpa(graph->tensor(positions("q", kQ, e, e.queries)),
                                       graph->tensor(positions("k", kK, e, e.keys)),
                                       graph->tensor(positions("v", kV, e, e.keys)), how);
  expose(out, positions("out", kOut, e, e.queries));
  expose(sums, row_sums(e));
  sums->set_data_type(frontend::DataType_t::FLOAT);
  return built(std::move(graph), handle);
}

Built build_backward(cudnnHandle_t handle, const Extents& e, float scale) {
  auto graph = new_graph();
  const auto how = frontend::graph::SDPA_backward_attributes()
                       .set_name("attention gradients")
                       .set_attn_scale(scale)
                       .set_causal_mask(e.causal)
                       .set_deterministic_algorithm(true);
  const auto [dq, dk, dv] = graph->sdpa_backward(
      graph->tensor(positions("q", kQ, e, e.queries)), graph->tensor(positions("k", kK, e, e.keys)),
      graph->tensor(positions("v", kV, e, e.keys)),
      graph->tensor(positions("out", kOut, e, e.queries)),
      graph->tensor(positions("g", kG, e, e.queries)), graph->tensor(row_sums(e)), how);
  expose(dq, positions("dq", kDq, e, e.queries));
  expose(dk, positions("dk", kDk, e, e.keys));
  expose(dv, positions("dv", kDv, e, e.keys));
  return built(std::move(graph), handle);
}

void run(cudaStream_t stream, cudnnHandle_t handle, const Graph* graph, const Addresses& addresses,
         void* workspace) {
  PENSTOCK_CUDA(cudnnSetStream(handle, stream));
  std::unordered_map<int64_t, void*> tensors;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    if (addresses[slot] != nullptr) tensors.emplace(slot, addresses[slot]);
  }
  auto status = graph->execute(handle, tensors, workspace);
  if (!status.is_good()) fail_resource("cuDNN failed in attention: " + status.get_message());
}

// `bytes` further on; null stays null.
template <class T>
void* advanced(T* address, int64_t bytes) {
  if (address == nullptr) return nullptr;
  return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(address)) + bytes;
}

class FusedAttention final : public CudnnAttention {
 public:
  explicit FusedAttention(CudaContext& context) : context_(context) {
    PENSTOCK_CUDA(cudnnCreate(&handle_));
  }
  ~FusedAttention() override {
    plans_.clear();
    (void)cudnnDestroy(handle_);  // nothing can be thrown here
  }
  FusedAttention(const FusedAttention&) = delete;
  FusedAttention& operator=(const FusedAttention&) = delete;

  bool supports(const AttentionCall& call) override {
    if (call.lengths != nullptr || call.rate > 0.0F || call.depth % 8 != 0) return false;
    return plan_of(call).backward.graph != nullptr;
  }

  void forward(const AttentionCall& call, const AttentionInputs& in, void* out,
               float* logsumexp) override {
    const Plan& plan = plan_of(call);
    submit(plan.forward, {advanced(in.q, 0), advanced(in.k, 0), advanced(in.v, 0), out, logsumexp});
  }

  void backward(const AttentionCall& call, const AttentionInputs& in,
                const AttentionResults& results, const AttentionGradients& to) override {
    const Plan& plan = plan_of(call);
    const int64_t width = int64_t{call.heads} * call.depth * 2;  // bytes
    for (int64_t sample = 0; sample < call.batch; sample += plan.samples) {
      const int64_t queries = sample * call.queries * width;
      const int64_t keys = sample * call.keys * width;
      const int64_t sums = sample * call.heads * call.queries * int64_t{sizeof(float)};
      submit(plan.backward, {advanced(in.q, queries), advanced(in.k, keys), advanced(in.v, keys),
                             advanced(results.out, queries), advanced(results.logsumexp, sums),
                             advanced(results.g, queries), advanced(to.dq, queries),
                             advanced(to.dk, keys), advanced(to.dv, keys)});
    }
  }

 private:
  struct Plan {
    Built forward, backward;  // both, or no backward
    int64_t samples = 0;      // that a backward takes at a time
  };

  Plan& plan_of(const AttentionCall& call) {
    const Extents whole{call.batch, call.queries, call.keys,
                        call.heads, call.depth,   call.causal != 0};
    const auto [at, is_new] = plans_.try_emplace(whole);
    if (is_new) {
      at->second = new_plan(whole, call.scale);
      ++context_.primitives_created;
    }
    return at->second;
  }

  Plan new_plan(const Extents& whole, float scale) {
    Plan plan;
    plan.forward = build_forward(handle_, whole, scale);
    if (plan.forward.graph == nullptr) return plan;
    Extents some = whole;
    for (; some.samples >= 1; --some.samples) {
      if (whole.samples % some.samples != 0) continue;
      plan.backward = build_backward(handle_, some, scale);
      plan.samples = some.samples;
      const bool refused = plan.backward.graph == nullptr;
      if (refused || plan.backward.workspace_bytes <= kWorkspaceLimit) return plan;
    }
    plan.backward = {};  // too large even for one sample
    return plan;
  }

  void submit(const Built& built, const Addresses& addresses) {
    Tensor workspace;
    if (built.workspace_bytes > 0) {
      workspace = context_.scratch({built.workspace_bytes}, DType::U8);
    }
    context_.queue.call<&run>(handle_, static_cast<const Graph*>(built.graph.get()), addresses,
                              workspace.raw());
  }

  CudaContext& context_;
  cudnnHandle_t handle_ = nullptr;
  std::map<Extents, Plan> plans_;
};

}  // namespace

std::unique_ptr<CudnnAttention> cudnn_attention(CudaContext& context) {
  return std::make_unique<FusedAttention>(context);
}

}  // namespace penstock
