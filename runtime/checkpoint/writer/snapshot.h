// runtime/checkpoint/writer/snapshot.h -- Snapshot: a copy of what a rank writes, in host memory,
// so that training goes on while it is written.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/device.h"
#include "runtime/checkpoint/writer/shards.h"

namespace penstock {

class Snapshot {
 public:
  // The device must outlive this.
  explicit Snapshot(Device& device);

  // Puts a copy in the place of every tensor. The copies stay as they are until the next take();
  // their memory is taken by the first and used again by all others, which bring tensors of the
  // same sizes. Waits for the device. Throws Error(Resource) when there is no memory.
  void take(std::vector<Shard>& shards);

  // Host memory, 0 before the first take(): of this alone, in no account of the device's.
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }

 private:
  [[nodiscard]] Tensor copy_of(const Tensor& tensor, size_t number);

  Device& device_;
  // On a device whose memory the host addresses: not from its cache, or the next step would miss
  // what was taken there.
  std::unique_ptr<Memory> own_;
  Memory& memory_;
  std::vector<Tensor> copies_;  // after own_: they are its
  int64_t size_bytes_ = 0;
};

}  // namespace penstock
