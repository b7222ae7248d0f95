// kernels/cuda/families.h -- the CUDA op families, one file each, and what they share.
// Private to kernels/cuda and its tests; everyone else calls make_cuda_device().
//
// An op computes shapes and addresses on the host, takes scratch tensors where it needs them and
// submits commands; it never waits. Results depend on shapes alone: no floating-point atomics, and
// library algorithms are chosen by shape, never by timing or address, so that every rank, step and
// recompute gets the same bits.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/queue/queue.h"
#include "kernels/cuda/trouble.h"
#include "kernels/memory/memory.h"
#include "kernels/ops.h"
#include "kernels/tensor.h"

namespace penstock {

// What the ops of one GPU work with besides their tensors. The device owns all of it.
struct CudaContext {
  Queue& queue;
  Memory& memory;    // device memory: scratch tensors, Purpose::Workspace
  Trouble& trouble;  // where kernels report bad ids
  const cudaDeviceProp& properties;
  int64_t& primitives_created;  // how many plans of libraries have been made: made() counts them
  std::vector<std::string>& choices;  // a line for each plan: DeviceCounts::library_choices
  int spare_processors = 0;           // multiprocessors that matrix products leave to others

  // An op calls this when it has made a plan of a library. `choice` says in a line what was asked
  // for and what the library will do.
  void made(std::string choice) const {
    ++primitives_created;
    choices.push_back(std::move(choice));
  }

  // "NVIDIA H200, compute 9.0": for what a library refuses on this GPU.
  [[nodiscard]] std::string gpu() const {
    return std::string(properties.name) + ", compute " + std::to_string(properties.major) + "." +
           std::to_string(properties.minor);
  }

  // A new scratch tensor; stream order lets it go out of scope as soon as its users are submitted.
  [[nodiscard]] Tensor scratch(const Shape& shape, DType dtype) const {
    const size_t size_bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
    return {memory.take(size_bytes, Purpose::Workspace), shape, dtype};
  }
};

// The context must outlive the ops.
[[nodiscard]] std::unique_ptr<DenseOps> cuda_dense_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<ImageOps> cuda_image_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<RowNormOps> cuda_row_norm_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<BatchNormOps> cuda_batch_norm_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<ActivationOps> cuda_activation_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<PointwiseOps> cuda_pointwise_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<LayoutOps> cuda_layout_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<AttentionOps> cuda_attention_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<TokenOps> cuda_token_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<ExpertOps> cuda_expert_ops(CudaContext& context);
[[nodiscard]] std::unique_ptr<UpdateOps> cuda_update_ops(CudaContext& context);

}  // namespace penstock
