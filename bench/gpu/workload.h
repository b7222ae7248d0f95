// bench/gpu/workload.h -- the workloads that the GPU benchmark times: large products, Transformer
// blocks, whole training steps, through the library's own ops, layers and stages, in the way the
// executor drives them.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "kernels/device.h"

namespace penstock::gpu_bench {

class Workload {
 public:
  virtual ~Workload() = default;
  // Issues one iteration, without waiting for it, and marks its two ends as points first_point and
  // first_point + 1 of the clock.
  virtual void iterate(DeviceClock& clock, size_t first_point) = 0;
  // Model FLOPs of one iteration: those that the network asks for, thrice the forward. A causal
  // mask lets half of the attention through, and the other half is not counted; nor are pairs of
  // positions in different samples of a packed row.
  [[nodiscard]] virtual double flops() const = 0;
  // The number of trained numbers, in which both sides of a comparison must agree.
  [[nodiscard]] virtual int64_t parameters() = 0;
};

// The workload that request["what"] names:
//   matmul  size: y[n, n] = x[n, n] w[n, n]^T, bf16
//   blocks  blocks, width, heads, batch, sequence: forward and backward of pre-norm Transformer
//           blocks in the middle of a network (the gradient of their input is wanted), all
//           activations kept; gradients are added to. Optional: "kv_heads" (grouped queries),
//           "dropout" (of the probabilities and of both branches), "packed": by row, the lengths
//           of the samples in it, which fill it
//   lm      layers, width, heads, context, vocabulary, batch: GPT-2's network, a training step of
//           AdamW without dropout, "micro_batches" (1) of them, each of `batch` samples; neither
//           the gradient's norm nor clipping
//   resnet  depth, batch, size (pixels a side): the ImageNet form; a training step of SGD with
//           momentum
//   amoebanet  layers, filters, batch, size: AmoebaNet-D; a training step of SGD with momentum
// Data are on the device already. Tensors are bf16, parameters fp32 with bf16 copies, parameter
// gradients fp32. "precision": "fp32" makes everything fp32. Throws Error(Input) for anything else.
[[nodiscard]] std::unique_ptr<Workload> make_workload(const nlohmann::json& request,
                                                      Device& device);

// Two parts of make_workload(): blocks, and whole training steps (null for other workloads).
[[nodiscard]] std::unique_ptr<Workload> make_blocks(const nlohmann::json& request, Device& device);
[[nodiscard]] std::unique_ptr<Workload> make_step(const nlohmann::json& request, Device& device);

}  // namespace penstock::gpu_bench
