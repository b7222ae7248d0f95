// kernels/counting/counting_device.h -- CountingDevice: a Device that computes nothing and
// counts the operations, bytes and seconds that its ops would take.
//
// Ops read no element and write none; they add what they would do to a counter. Tensors have
// addresses that no system maps, so memory accounts are exact at no cost, even for a network of
// many billions of parameters. Ops check nothing: shapes are checked by Layer::infer().
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/device.h"
#include "kernels/device_model.h"

namespace penstock {

// The sums over all ops since the device was made.
struct OpCount {
  int64_t ops = 0;
  double flops = 0;
  double bytes = 0;    // read and written, every operand once
  double copied = 0;   // of these: read and written to copy operands, results and weights
  double seconds = 0;  // by the device model, one op after another
  bool operator==(const OpCount&) const = default;
};

class CountingDevice : public Device {
 public:
  [[nodiscard]] virtual const OpCount& count() const = 0;
};

// A device whose ops take the seconds that `model` computes.
[[nodiscard]] std::unique_ptr<CountingDevice> make_counting_device(const DeviceModel& model);

}  // namespace penstock
