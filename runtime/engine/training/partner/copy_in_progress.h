// runtime/engine/training/partner/copy_in_progress.h -- CopyInProgress: copies a rank's tensors to
// a slot of its host's memory, a little at a time, and adds up their checksum.
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
  // All must outlive this.
  CopyInProgress(const CopyLayout& layout, Device& device) : layout_(layout), device_(device) {}

  // Starts from the beginning, into `to`, which holds layout.data_bytes.
  void restart(std::span<std::byte> to);
  // Copies the next bytes, `most_bytes` at most. Waits for the device.
  void copy(size_t most_bytes);
  [[nodiscard]] uint64_t copied() const { return copied_; }  // bytes
  [[nodiscard]] bool is_whole() const { return copied_ == layout_.data_bytes; }
  // The digest of header and data, once the copy is whole.
  [[nodiscard]] FileDigest digest() const;

 private:
  const CopyLayout& layout_;
  Device& device_;
  std::span<std::byte> to_;
  Checksum checksum_;
  size_t place_ = 0;  // of the layout's places, the one that is being copied
  uint64_t copied_ = 0;
};

}  // namespace penstock
