// kernels/checksums.h -- Checksums: a list of checksums of tensors. The device computes each in the
// order of its ops, without the host waiting; the host reads all of them later.
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
  // Appends the checksum of the elements of x as they are when the ops issued so far have ended
  // (PointwiseOps::checksum(): any changed bit changes it), or 0 where x refers to no memory. Does
  // not wait; x may be released at once.
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
