// tests/support/host_device.h -- HostDevice: a Device with memory and without ops, for tests of
// code that only moves tensors. Asking it for an op throws.
#pragma once

#include <cstring>
#include <string>

#include "kernels/device.h"
#include "kernels/error.h"

namespace penstock {

class HostDevice final : public Device {
 public:
  // With false it claims to be an accelerator, whose memory the host must not touch.
  explicit HostDevice(bool host_addressable = true) : memory_(host_memory_source()) {
    set_facts({.description = "memory without ops",
               .model = device_model_named("cpu"),
               .host_addressable = host_addressable});
  }

  void synchronize() override {}
  void copy_from_host(Tensor& to, const void* from, size_t size_bytes) override {
    std::memcpy(to.raw(), from, size_bytes);
  }
  void copy_to_host(void* to, const Tensor& from, size_t size_bytes) override {
    std::memcpy(to, from.raw(), size_bytes);
  }

  OpSet& ops() override { has_none(); }
  Memory& memory() override { return memory_; }

 private:
  [[noreturn]] static void has_none() { fail_internal("this test device has no ops"); }

  Memory memory_;
};

}  // namespace penstock
