// kernels/device_facts.h -- DeviceFacts: what a device is and what it has done, for whoever plans,
// chooses or reports and computes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device_model.h"

namespace penstock {

class DeviceFacts {
 public:
  virtual ~DeviceFacts() = default;

  // "cpu (avx512_core_bf16, 2 threads)"
  [[nodiscard]] virtual std::string description() const = 0;
  // What plans and forecasts reckon with.
  [[nodiscard]] virtual DeviceModel model() const = 0;
  // True when bf16 matrix products run at the hardware's own speed.
  [[nodiscard]] virtual bool native_bf16() const = 0;
  // True when the host may read and write tensor memory directly.
  [[nodiscard]] virtual bool host_addressable() const = 0;
  // False when tensors have no contents (kernels/counting): values need not be made for it.
  [[nodiscard]] virtual bool holds_values() const { return true; }
  // Whether weight gradients that the first micro-batch of a step overwrites are faster than zeros
  // to which all are added: large ones save two passes over them, small ones are filled one by one.
  [[nodiscard]] virtual bool overwrites_gradients() const { return false; }

  // Kernel-library primitives (plans, descriptors) made since the start; flat in the steady state.
  [[nodiscard]] virtual int64_t primitives_created() const = 0;
  // What the libraries granted for each primitive, a line each (algorithm, workspace, what is fused
  // and what is refused): the answer to "why is this op slow". Empty where there is nothing to say.
  [[nodiscard]] virtual std::vector<std::string> library_choices() const { return {}; }
  // Commands given to an accelerator one by one since the start; those replayed within a section
  // (Device::begin_section) do not count. Small in the steady state.
  [[nodiscard]] virtual int64_t commands_issued() const { return 0; }
};

}  // namespace penstock
