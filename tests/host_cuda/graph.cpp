// tests/host_cuda/graph.cpp -- capturing one stream into a graph, and replaying it. A graph is a
// chain here: streams that join a capture through events are not emulated.
#include <algorithm>
#include <set>

#include "tests/host_cuda/capture.h"

// The nodes of a graph, in order, and handles of them for whoever asks.
struct CUgraph_st {
  std::vector<cudaGraphNode_t> nodes;
  ~CUgraph_st() {
    for (CUgraphNode_st* node : nodes) delete node;
  }
};

struct CUgraphExec_st {
  std::vector<CUgraphNode_st> nodes;       // copies
  std::vector<cudaGraphNode_t> originals;  // what the caller knows them by
};

namespace penstock::host_cuda {
namespace {

std::set<const CUgraphNode_st*>& living_nodes() {
  static std::set<const CUgraphNode_st*> nodes;
  return nodes;
}

thread_local CUstream_st* captured_here = nullptr;

cudaError_t add_node(CUstream_st& stream, const CUgraphNode_st& node) {
  if (stream.capture->broken) return cudaErrorStreamCaptureInvalidated;
  auto* copy = new CUgraphNode_st(node);
  living_nodes().insert(copy);
  stream.capture->graph->nodes.push_back(copy);
  return cudaSuccess;
}

Operation operation_of(const CUgraphNode_st& node) {
  return node.is_kernel ? at_once(node.kernel) : node.operation;
}

void destroy(CUgraph_st* graph) {
  for (const CUgraphNode_st* node : graph->nodes) living_nodes().erase(node);
  delete graph;
}

}  // namespace

cudaError_t capture_operation(CUstream_st& stream, const Operation& operation) {
  CUgraphNode_st node;
  node.operation = operation;
  return add_node(stream, node);
}

cudaError_t capture_kernel(CUstream_st& stream, const KernelRun& run) {
  CUgraphNode_st node;
  node.is_kernel = true;
  node.kernel = run;
  return add_node(stream, node);
}

cudaError_t refused_in_capture() {
  if (captured_here == nullptr) return cudaSuccess;
  captured_here->capture->broken = true;
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace penstock::host_cuda

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  PENSTOCK_HOST_CUDA_LOCK;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  if (handle == nullptr) return noted(cudaErrorStreamCaptureUnsupported);
  if (stream->capture != nullptr) return noted(cudaErrorIllegalState);
  static unsigned long long last_id = 0;
  stream->capture = std::make_unique<Capture>();
  stream->capture->graph = new CUgraph_st;
  stream->capture->id = ++last_id;
  if (mode != cudaStreamCaptureModeRelaxed) captured_here = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  PENSTOCK_HOST_CUDA_LOCK;
  *graph = nullptr;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  if (stream->capture == nullptr) return noted(cudaErrorIllegalState);
  if (captured_here == stream) captured_here = nullptr;
  const std::unique_ptr<Capture> capture = std::move(stream->capture);
  if (capture->broken) {
    destroy(capture->graph);
    return noted(cudaErrorStreamCaptureInvalidated);
  }
  *graph = capture->graph;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  PENSTOCK_HOST_CUDA_LOCK;
  const CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  const Capture* capture = stream->capture.get();
  *status = capture == nullptr ? cudaStreamCaptureStatusNone
            : capture->broken  ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
  if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
  const std::vector<cudaGraphNode_t>& nodes = capture->graph->nodes;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph;
  if (dependencies != nullptr) *dependencies = nodes.empty() ? nullptr : &nodes.back();
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = nodes.empty() ? 0 : 1;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  *mode = cudaStreamCaptureModeThreadLocal;  // not emulated further
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  PENSTOCK_HOST_CUDA_LOCK;
  auto* made = new CUgraphExec_st;
  for (cudaGraphNode_t node : graph->nodes) made->nodes.push_back(*node);
  made->originals = graph->nodes;
  *instance = made;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t handle) {
  PENSTOCK_HOST_CUDA_LOCK;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) return noted(cudaErrorNotSupported, "a graph inside a graph");
  for (const CUgraphNode_st& node : instance->nodes) {
    if (const cudaError_t status = submit(handle, operation_of(node)); status != cudaSuccess) {
      return noted(status);
    }
  }
  return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  PENSTOCK_HOST_CUDA_LOCK;
  // The caller's handle is the node of the graph that was captured.
  if (!living_nodes().contains(node)) {
    return noted(cudaErrorInvalidValue, "the node's graph has been destroyed");
  }
  const auto found = std::find(instance->originals.begin(), instance->originals.end(), node);
  if (found == instance->originals.end()) return noted(cudaErrorInvalidValue);
  CUgraphNode_st& copy = instance->nodes[static_cast<size_t>(found - instance->originals.begin())];
  if (!copy.is_kernel || copy.kernel.function() != parameters->func) {
    return noted(cudaErrorInvalidValue, "not the kernel of that node");
  }
  const KernelRun run(parameters->func, parameters->gridDim, parameters->blockDim,
                      parameters->sharedMemBytes, parameters->kernelParams);
  if (const cudaError_t status = run.check(); status != cudaSuccess) return noted(status);
  copy.kernel = run;
  return cudaSuccess;
}

// Same nodes in the same order; only their arguments may be others.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t instance, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  PENSTOCK_HOST_CUDA_LOCK;
  const bool alike =
      std::equal(instance->nodes.begin(), instance->nodes.end(), graph->nodes.begin(),
                 graph->nodes.end(), [](const CUgraphNode_st& a, const CUgraphNode_st* b) {
                   return a.is_kernel == b->is_kernel &&
                          (!a.is_kernel || a.kernel.function() == b->kernel.function());
                 });
  result->result = alike ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
  if (!alike) return noted(cudaErrorGraphExecUpdateFailure);
  for (size_t n = 0; n < graph->nodes.size(); ++n) instance->nodes[n] = *graph->nodes[n];
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (!living_nodes().contains(node)) return noted(cudaErrorInvalidValue);
  *type = node->is_kernel ? cudaGraphNodeTypeKernel : cudaGraphNodeTypeHost;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  PENSTOCK_HOST_CUDA_LOCK;
  destroy(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
  PENSTOCK_HOST_CUDA_LOCK;
  delete instance;  // what was launched has its own copies
  return cudaSuccess;
}

}  // extern "C"
