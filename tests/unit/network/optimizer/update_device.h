// tests/unit/network/optimizer/update_device.h -- UpdateDevice: the part of the CPU backend that
// optimizers and checkpoints use: memory, copies, dense, pointwise and update ops. It can pretend
// to be an accelerator.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/cpu/families.h"
#include "kernels/cpu/onednn/onednn.h"

namespace penstock {

class UpdateDevice final : public Device {
 public:
  // With false it claims to be an accelerator, whose memory the host must not touch.
  explicit UpdateDevice(bool addressable = true) {
    set_facts({.description = "the CPU's update ops",
               .model = device_model_named("cpu"),
               .host_addressable = addressable});
    ops_.dense = cpu_dense_ops(context_);
    ops_.pointwise = cpu_pointwise_ops(context_);
    ops_.update = cpu_update_ops(context_);
  }

  void synchronize() override {}
  void copy_from_host(Tensor& to, const void* from, size_t size_bytes) override {
    std::memcpy(to.raw(), from, size_bytes);
    largest_copy_ = std::max(largest_copy_, size_bytes);
  }
  void copy_to_host(void* to, const Tensor& from, size_t size_bytes) override {
    std::memcpy(to, from.raw(), size_bytes);
    largest_copy_ = std::max(largest_copy_, size_bytes);
  }
  // Bytes of the largest copy from or to the host so far.
  [[nodiscard]] size_t largest_copy() const { return largest_copy_; }

  OpSet& ops() override { return ops_; }
  Memory& memory() override { return memory_; }

 private:
  static constexpr int kThreads = 2;
  size_t largest_copy_ = 0;
  Memory memory_{host_memory_source()};  // first in, last out
  OneDnn dnn_{kThreads, memory_};
  CpuContext context_{kThreads, memory_, dnn_};
  OpSet ops_;
};

}  // namespace penstock
