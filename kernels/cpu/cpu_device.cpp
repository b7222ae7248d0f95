// kernels/cpu/cpu_device.cpp -- the CPU backend: the op families over one oneDNN wrapper and one
// heap.
#include <omp.h>

#include <cstring>
#include <string>

#include "kernels/cpu/families.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/cpu/processor/processor.h"

namespace penstock {
namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice(int threads, Bf16 bf16, const ProcessorSpeed& speed)
      : memory_(host_memory_source()),
        dnn_(threads, memory_, bf16),
        context_{threads, memory_, dnn_},
        ops_{.dense = cpu_dense_ops(context_),
             .image = cpu_image_ops(context_),
             .row_norm = cpu_row_norm_ops(context_),
             .batch_norm = cpu_batch_norm_ops(context_),
             .activation = cpu_activation_ops(context_),
             .pointwise = cpu_pointwise_ops(context_),
             .layout = cpu_layout_ops(context_),
             .attention = cpu_attention_ops(context_),
             .token = cpu_token_ops(context_),
             .experts = cpu_expert_ops(context_),
             .update = cpu_update_ops(context_)} {
    flush_denormals(threads);
    Processor processor = processor_at_hand();
    processor.bf16 = dnn_.native_bf16();
    set_facts({.description = "cpu (" + dnn_.isa() + ", " + std::to_string(threads) +
                              (threads == 1 ? " thread)" : " threads)"),
               .model = cpu_model(processor, threads, speed),
               .native_bf16 = dnn_.native_bf16(),
               .overwrites_gradients = true});
  }

  void synchronize() override {}  // every op has ended when it returns
  void copy_from_host(Tensor& to, const void* from, size_t size_bytes) override {
    std::memcpy(to.raw(), from, size_bytes);
  }
  void copy_to_host(void* to, const Tensor& from, size_t size_bytes) override {
    std::memcpy(to, from.raw(), size_bytes);
  }
  [[nodiscard]] DeviceCounts counts() const override {
    return {.primitives_created = dnn_.primitives_created()};
  }

  OpSet& ops() override { return ops_; }
  Memory& memory() override { return memory_; }

 private:
  Memory memory_;  // destroyed last: the families hold scratch tensors from it
  OneDnn dnn_;
  CpuContext context_;
  OpSet ops_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(int threads, Bf16 bf16, const ProcessorSpeed& speed) {
  if (threads < 1) fail_input("run.threads must be at least 1");
  if (threads > omp_get_thread_limit()) {
    fail_input("a device of " + std::to_string(threads) + " threads: OMP_THREAD_LIMIT allows " +
               std::to_string(omp_get_thread_limit()) + ", and oneDNN would leave out work");
  }
  return std::make_unique<CpuDevice>(threads, bf16, speed);
}

}  // namespace penstock
