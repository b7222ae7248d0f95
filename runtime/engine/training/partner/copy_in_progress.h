// runtime/engine/training/partner/copy_in_progress.h -- CopyInProgress: copies the tensors of a
// rank into one block of host memory, a few bytes at a time between other work, and computes the
// checksum on the way (for partner_copies.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/device.h"
#include "runtime/records/checkpoint/copies/copy_layout.h"
#include "runtime/records/checkpoint/format/checksum.h"

namespace penstock {

class CopyInProgress {
 public:
  // `layout` says which tensor goes where in the block. Both arguments must outlive this.
  CopyInProgress(const CopyLayout& layout, Device& device) : layout_(layout), device_(device) {}

  // Begins from the first byte. `to`: the block, layout.data_bytes bytes of host memory, which must
  // stay until the copy is whole.
  void restart(std::span<std::byte> to);
  // Copies the next `most_bytes` bytes or fewer. Waits for the device.
  void copy(size_t most_bytes);
  // How many bytes are copied so far.
  [[nodiscard]] uint64_t copied() const { return copied_; }
  // Whether all bytes are copied.
  [[nodiscard]] bool is_whole() const { return copied_ == layout_.data_bytes; }
  // The checksum of header and data together. Called when the copy is whole.
  [[nodiscard]] FileDigest digest() const;

 private:
  const CopyLayout& layout_;
  Device& device_;
  std::span<std::byte> to_;
  Checksum checksum_;
  size_t place_ = 0;  // index in the layout of the tensor that is being copied
  uint64_t copied_ = 0;
};

}  // namespace penstock
