// kernels/counting/virtual_device.h -- VirtualDevice: a Device that computes nothing and moves a
// clock of its own by the time that the modelled device would take.
//
// Nobody waits for that time, so many modelled accelerators fit on few cores. Tensors have no
// contents, but their memory can be read and written, so that messages can be sent from it and
// received into it (reused_pages.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/counting/counting_device.h"
#include "kernels/counting/virtual_clock.h"

namespace penstock {

class VirtualDevice : public CountingDevice {
 public:
  // Ops in the section of that key (Device::begin_section) take `pace(key)` times as long as
  // counted. Ops outside of sections, and before this is called, take as long as counted.
  virtual void set_pace(std::function<double(int64_t key)> pace) = 0;
  // The clock that ops move, and by which make_clock() dates its points. Whoever receives messages
  // for this device moves it, too.
  [[nodiscard]] virtual VirtualClock& clock() = 0;
};

// model() is `model`, although the host can address the tensors.
[[nodiscard]] std::unique_ptr<VirtualDevice> make_virtual_device(const DeviceModel& model);

}  // namespace penstock
