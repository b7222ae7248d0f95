// runtime/hub/number_reader.h -- the numbers of one tensor of a safetensors file as fp32.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/checkpoint/safetensors.h"
#include "runtime/hub/numbers.h"

namespace penstock {

class NumberReader {
 public:
  // Both outlive this; the tensor is of a type that number_bytes() knows.
  NumberReader(const SafetensorsFile& file, const TensorInfo& tensor)
      : file_(file), tensor_(tensor), each_(number_bytes(tensor.dtype)) {}

  // Overwrites all of `to` with as many numbers, from the `first` of the tensor on. Throws as
  // SafetensorsFile::read().
  void read(size_t first, std::span<float> to);

 private:
  const SafetensorsFile& file_;
  const TensorInfo& tensor_;
  size_t each_;
  std::vector<std::byte> bytes_;  // of a piece that is not fp32
};

// Calls `fill(numbers)` for all the numbers of a tensor of fp32, where the host can address them or
// through a copy of this one tensor.
template <class Fill>
void fill_tensor(Tensor& to, Device& device, const Fill& fill) {
  const auto elements = static_cast<size_t>(to.elements());
  if (device.host_addressable()) {
    return fill(std::span<float>(static_cast<float*>(to.raw()), elements));
  }
  std::vector<float> host(elements);
  fill(std::span<float>(host));
  device.copy_from_host(to, host.data(), to.size_bytes());
  device.synchronize();
}

}  // namespace penstock
