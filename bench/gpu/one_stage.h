// bench/gpu/one_stage.h -- the parts of the GPU benchmark's workloads: tensors of drawn numbers,
// and one stage driven in the way the executor drives it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "runtime/network/stage/stage.h"

namespace penstock::gpu_bench {

// The type of the workload: bf16, unless the request's "precision" is "fp32".
[[nodiscard]] DType dtype_of(const nlohmann::json& request);
// Uniform in (-scale, scale): zeros would draw less power than real numbers, and run faster.
[[nodiscard]] Tensor noise(const Shape& shape, DType dtype, float scale, const char* name,
                           Device& device);
[[nodiscard]] Tensor copy_of(const Tensor& from, Device& device);
[[nodiscard]] Tensor on_device(const Shape& shape, const std::vector<int32_t>& numbers,
                               Device& device);
// I32, uniform in [0, end).
[[nodiscard]] Tensor drawn_below(int64_t end, const Shape& shape, const char* name, Device& device);

class OneStage {
 public:
  // `layers` must outlive it. `step`: the stage runs a whole training step with an update after it,
  // and these are all layers of the network; else they are part of the middle of a network.
  struct Use {
    bool step = false;
    int micro_batches = 1;
  };
  OneStage(std::span<const std::unique_ptr<Layer>> layers, DType dtype, Use use, Device& device);

  // A tensor that every micro-batch has in the field of that name.
  void set_field(const std::string& name, Tensor numbers);
  void set_loss_scale(float scale);
  // Runs forward and backward of micro-batch `index`: a section for each. Inputs may be
  // overwritten, ids excepted.
  void forward_backward(int index, Tensors inputs, Tensors gradients);
  // Called once a step, before the update: a parameter that several layers hold gets the sum of
  // their gradients, as runtime/engine/pipeline/tied_gradients.h has it on one stage.
  void add_tied_up();

  [[nodiscard]] Stage& stage() { return stage_; }
  [[nodiscard]] int64_t parameters();  // elements, of those that are shared once

 private:
  Device& device_;
  Stage stage_;
  std::vector<std::string> names_;
  std::vector<Tensor> fields_;
  std::vector<MicroBatch> micro_batches_;
};

}  // namespace penstock::gpu_bench
