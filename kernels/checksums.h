// kernels/checksums.h -- Checksums: takes checksums of tensors in the order of a device's ops,
// for reading them later.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/device.h"

namespace penstock {

class Checksums {
 public:
  // `device` must outlive the object.
  explicit Checksums(Device& device) : device_(device) {}

  void clear() { count_ = 0; }  // forgets all checksums, keeps their memory
  // Appends the checksum of the elements as they are when the ops issued so far have ended
  // (PointwiseOps::checksum(): any changed bit changes it); 0 for an empty tensor.
  void add(const Tensor& x);
  [[nodiscard]] size_t count() const { return count_; }
  // All checksums, in the order in which they were added. Waits for the device.
  [[nodiscard]] std::vector<uint64_t> read() const;

 private:
  static constexpr size_t kInChunk = 128;  // checksums

  Device& device_;
  std::vector<Tensor> chunks_;  // I32 [2 kInChunk] each
  size_t count_ = 0;
};

}  // namespace penstock
