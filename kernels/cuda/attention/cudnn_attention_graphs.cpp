// kernels/cuda/attention/cudnn_attention_graphs.cpp -- fused attention as graphs of cuDNN's
// frontend, built once per shape and run as one library call each way.
#include <cudnn_frontend.h>

#include <string>
#include <unordered_map>

#include "kernels/cuda/attention/attention_graphs.h"
#include "kernels/cuda/attention/cudnn_attention_plans.h"
#include "kernels/cuda/status.h"

namespace penstock {
namespace {

namespace frontend = cudnn_frontend;
using Graph = frontend::graph::Graph;
using GraphTensor = frontend::graph::Tensor_attributes;
using Slot = AttentionSlot;

// Describes one of our tensors to cuDNN. Its axes are [sample, head, position, element of the
// head], and the strides say how these axes lie in our memory.
GraphTensor positions(const char* name, Slot slot, const AttentionExtents& e, int64_t extent,
                      int64_t heads, int64_t all_heads) {
  const int64_t width = all_heads * e.depth;
  GraphTensor tensor;
  tensor.set_name(name).set_uid(static_cast<int64_t>(slot));
  tensor.set_dim({e.samples, heads, extent, e.depth});
  tensor.set_stride({extent * width, e.depth, width, 1});
  return tensor;
}
GraphTensor of_queries(const char* name, Slot slot, const AttentionExtents& e) {
  return positions(name, slot, e, e.queries, e.heads, e.all_heads);
}
GraphTensor of_keys(const char* name, Slot slot, const AttentionExtents& e) {
  return positions(name, slot, e, e.keys, e.kv_heads, e.all_kv_heads);
}
GraphTensor row_sums(const AttentionExtents& e) {
  GraphTensor tensor;
  tensor.set_name("logsumexp").set_uid(static_cast<int64_t>(Slot::Logsumexp));
  tensor.set_data_type(frontend::DataType_t::FLOAT).set_dim({e.samples, e.heads, e.queries, 1});
  tensor.set_stride({e.heads * e.queries, e.queries, 1, 1});
  return tensor;
}
// Makes a result of the graph an output, which is stored as our tensor `as` is.
void expose(const std::shared_ptr<GraphTensor>& result, const GraphTensor& as) {
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

std::shared_ptr<GraphTensor> whole_numbers(Graph& graph, const char* name, Slot slot, int64_t count,
                                           frontend::DataType_t type) {
  GraphTensor tensor;
  tensor.set_name(name).set_uid(static_cast<int64_t>(slot)).set_data_type(type);
  tensor.set_dim({count, 1, 1, 1}).set_stride({1, 1, 1, 1});
  return graph.tensor(tensor);
}

// Sets the attributes that forward and backward have in common. The frontend has a class for the
// forward and another for the backward; their members have the same names.
template <class How>
void apply_extents(How& how, Graph& graph, const AttentionExtents& e, float scale) {
  how.set_attn_scale(scale).set_causal_mask(e.causal);
  if (e.window > 0) how.set_diagonal_band_left_bound(static_cast<int>(e.window));
  if (e.lengths) {
    constexpr auto kType = frontend::DataType_t::INT32;
    how.set_padding_mask(true);
    how.set_seq_len_q(whole_numbers(graph, "query lengths", Slot::QueryLengths, e.samples, kType));
    how.set_seq_len_kv(whole_numbers(graph, "key lengths", Slot::KeyLengths, e.samples, kType));
  }
  if (e.dropout > 0.0F) {
    constexpr auto kType = frontend::DataType_t::INT64;
    how.set_dropout(e.dropout, whole_numbers(graph, "seed", Slot::Seed, 1, kType),
                    whole_numbers(graph, "offset", Slot::Offset, 1, kType));
  }
}

std::unique_ptr<Graph> forward_graph(const AttentionExtents& e, float scale) {
  auto graph = new_graph();
  auto how = frontend::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
  apply_extents(how, *graph, e, scale);
  const auto [out, sums] = graph->sdpa(graph->tensor(of_queries("q", Slot::Q, e)),
                                       graph->tensor(of_keys("k", Slot::K, e)),
                                       graph->tensor(of_keys("v", Slot::V, e)), how);
  expose(out, of_queries("out", Slot::Out, e));
  expose(sums, row_sums(e));
  sums->set_data_type(frontend::DataType_t::FLOAT);
  return graph;
}

std::unique_ptr<Graph> backward_graph(const AttentionExtents& e, float scale) {
  auto graph = new_graph();
  auto how = frontend::graph::SDPA_backward_attributes()
                 .set_name("attention gradients")
                 .set_deterministic_algorithm(true);
  apply_extents(how, *graph, e, scale);
  const auto [dq, dk, dv] = graph->sdpa_backward(
      graph->tensor(of_queries("q", Slot::Q, e)), graph->tensor(of_keys("k", Slot::K, e)),
      graph->tensor(of_keys("v", Slot::V, e)), graph->tensor(of_queries("out", Slot::Out, e)),
      graph->tensor(of_queries("g", Slot::G, e)), graph->tensor(row_sums(e)), how);
  expose(dq, of_queries("dq", Slot::Dq, e));
  expose(dk, of_keys("dk", Slot::Dk, e));
  expose(dv, of_keys("dv", Slot::Dv, e));
  return graph;
}

class FrontendGraph final : public AttentionGraph {
 public:
  FrontendGraph(cudnnHandle_t handle, std::unique_ptr<Graph> graph, int64_t workspace_bytes)
      : handle_(handle), graph_(std::move(graph)), workspace_bytes_(workspace_bytes) {}

  [[nodiscard]] int64_t workspace_bytes() const override { return workspace_bytes_; }

  void run(cudaStream_t stream, const AttentionAddresses& addresses,
           void* workspace) const override {
    PENSTOCK_CUDA(cudnnSetStream(handle_, stream));
    std::unordered_map<int64_t, void*> tensors;
    for (size_t slot = 0; slot < kAttentionSlots; ++slot) {
      if (addresses[slot] != nullptr) tensors.emplace(slot, addresses[slot]);
    }
    auto status = graph_->execute(handle_, tensors, workspace);
    if (status.is_good()) return;
    const std::string call = "attention, " + status.get_message();
    fail_cudnn(call.c_str(), CUDNN_STATUS_EXECUTION_FAILED);
  }

 private:
  cudnnHandle_t handle_;
  std::unique_ptr<Graph> graph_;
  int64_t workspace_bytes_;
};

class FrontendGraphs final : public AttentionGraphs {
 public:
  FrontendGraphs() { PENSTOCK_CUDA(cudnnCreate(&handle_)); }
  ~FrontendGraphs() override { (void)cudnnDestroy(handle_); }  // nothing can be thrown here
  FrontendGraphs(const FrontendGraphs&) = delete;
  FrontendGraphs& operator=(const FrontendGraphs&) = delete;

  [[nodiscard]] std::unique_ptr<AttentionGraph> forward(const AttentionExtents& extents,
                                                        float scale) override {
    return built(forward_graph(extents, scale));
  }
  [[nodiscard]] std::unique_ptr<AttentionGraph> backward(const AttentionExtents& extents,
                                                         float scale) override {
    return built(backward_graph(extents, scale));
  }

 private:
  [[nodiscard]] std::unique_ptr<AttentionGraph> built(std::unique_ptr<Graph> graph) const {
    if (!graph->build(handle_, {frontend::HeurMode_t::A}).is_good()) return nullptr;
    const int64_t workspace_bytes = graph->get_workspace_size();
    return std::make_unique<FrontendGraph>(handle_, std::move(graph), workspace_bytes);
  }

  cudnnHandle_t handle_ = nullptr;
};

std::string take_for(frontend::DeviceProperties& properties, const DescribedGpu& gpu) {
  auto status = properties.deserialize({gpu.description.begin(), gpu.description.end()});
  return status.is_good() ? "" : status.get_message();
}
AttentionPlan planned(const DescribedGpu& gpu, Graph& graph) {
  const auto properties = std::make_shared<frontend::DeviceProperties>();
  if (std::string trouble = take_for(*properties, gpu); !trouble.empty()) return {trouble, 0};
  graph.set_device_properties(properties).set_sm_version(gpu.architecture);
  auto status = graph.build({frontend::HeurMode_t::A});
  if (!status.is_good()) return {status.get_message(), 0};
  return {"", graph.get_workspace_size()};
}

}  // namespace

bool has_attention_graphs() {
  return true;
}
std::unique_ptr<AttentionGraphs> attention_graphs() {
  return std::make_unique<FrontendGraphs>();
}

std::string describing_trouble(const DescribedGpu& gpu) {
  frontend::DeviceProperties properties;
  return take_for(properties, gpu);
}
AttentionPlan forward_plan(const DescribedGpu& gpu, const AttentionExtents& extents, float scale) {
  return planned(gpu, *forward_graph(extents, scale));
}
AttentionPlan backward_plan(const DescribedGpu& gpu, const AttentionExtents& extents, float scale) {
  return planned(gpu, *backward_graph(extents, scale));
}

}  // namespace penstock
