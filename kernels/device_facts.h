// kernels/device_facts.h -- DeviceFacts: what a device is and what it has done, for code that
// plans, chooses or reports and computes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "kernels/device_model.h"

namespace penstock {

// Counts of what a device has done since it was made.
struct DeviceCounts {
  // Kernel-library primitives (plans, descriptors) made; flat in the steady state.
  int64_t primitives_created = 0;
  // Commands given to an accelerator one by one; those replayed within a section
  // (Device::begin_section) do not count. Small in the steady state.
  int64_t commands_issued = 0;
  // A line for each primitive that says what the library answered (algorithm, workspace, what is
  // fused and what is refused): it tells why an op is slow. The device owns the lines; the span is
  // valid until the device makes another primitive.
  std::span<const std::string> library_choices = {};
};

class DeviceFacts {
 public:
  virtual ~DeviceFacts() = default;

  // "cpu (avx512_core_bf16, 2 threads)"
  [[nodiscard]] const std::string& description() const { return facts_.description; }
  // The figures from which plans and forecasts are computed.
  [[nodiscard]] const DeviceModel& model() const { return facts_.model; }
  // True when bf16 matrix products run at the hardware's own speed.
  [[nodiscard]] bool native_bf16() const { return facts_.native_bf16; }
  // True when the host may read and write tensor memory directly.
  [[nodiscard]] bool host_addressable() const { return facts_.host_addressable; }
  // False when tensors have no contents (kernels/counting): nobody need make values for the device.
  [[nodiscard]] bool holds_values() const { return facts_.holds_values; }
  // Whether a step is faster when its first micro-batch overwrites weight gradients than when all
  // micro-batches add to zeros: overwriting saves two passes over large gradients, but those that
  // cannot be overwritten are then filled one by one.
  [[nodiscard]] bool overwrites_gradients() const { return facts_.overwrites_gradients; }

  // What the device has done so far; all zero for devices that count nothing.
  [[nodiscard]] virtual DeviceCounts counts() const { return {}; }

 protected:
  struct Facts {
    std::string description;
    DeviceModel model;
    bool native_bf16 = false;
    bool host_addressable = true;
    bool holds_values = true;
    bool overwrites_gradients = false;
  };
  // Called by a device's constructor, once its libraries are there to be asked.
  void set_facts(Facts facts) { facts_ = std::move(facts); }

 private:
  Facts facts_;
};

}  // namespace penstock
