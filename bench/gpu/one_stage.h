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
// I32, with these numbers.
[[nodiscard]] Tensor on_device(const Shape& shape, const std::vector<int32_t>& numbers,
                               Device& device);
// I32, uniform in [0, end).
[[nodiscard]] Tensor drawn_below(int64_t end, const Shape& shape, const char* name, Device& device);

class OneStage {
 public:
  // `layers` must outlive this. `step`: they are all layers of a network, which runs whole training
  // steps, each with an update; else they are some layers in the middle of a network.
  struct Use {
    bool step = false;
    int micro_batches = 1;
  };
  OneStage(std::span<const std::unique_ptr<Layer>> layers, DType dtype, Use use, Device& device);

  // Sets the batch field of that name for every micro-batch.
  void set_field(const std::string& name, Tensor numbers);
  void set_loss_scale(float scale);
  // Runs forward and backward of micro-batch `index`, each in a section of its own
  // (Device::begin_section()). May overwrite inputs, except ids.
  void forward_backward(int index, Tensors inputs, Tensors gradients);
  // Called once a step, before the update: a parameter that several layers hold gets the sum of
  // their gradients, as runtime/engine/pipeline/tied_gradients.h has it on one stage.
  void add_tied_up();

  [[nodiscard]] Stage& stage() { return stage_; }
  [[nodiscard]] int64_t parameters();  // elements; those of a tied parameter once

 private:
  Device& device_;
  Stage stage_;
  std::vector<std::string> names_;
  std::vector<Tensor> fields_;
  std::vector<MicroBatch> micro_batches_;
};

}  // namespace penstock::gpu_bench
