// kernels/counting/pacing_device.h -- PacingDevice: a Device that computes nothing and takes as
// long as the modelled device would.
//
// Ops return at once, as an accelerator's do, and add their seconds to the moment at which the
// device will have ended; a host that waits for the device sleeps until then. Many modelled
// accelerators thus fit on few cores. Tensors have no contents, but their memory can be read and
// written, so that messages can be sent from it and received into it (reused_pages.h).
//
// A host that oversleeps does not make its accelerator slower: the next op starts when the last one
// should have ended, unless the host has waited for something else in between.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/counting/counting_device.h"

namespace penstock {

class PacingDevice : public CountingDevice {
 public:
  // Ops in the section of that key (Device::begin_section) take `pace(key)` times as long as
  // counted. Ops outside of sections, and before this is called, take as long as counted.
  virtual void set_pace(std::function<double(int64_t key)> pace) = 0;
};

// A host that waits for the device calls the function of Device::set_progress() every `nap`.
[[nodiscard]] std::unique_ptr<PacingDevice> make_pacing_device(
    const DeviceModel& model, std::chrono::microseconds nap = std::chrono::microseconds(200));

}  // namespace penstock
