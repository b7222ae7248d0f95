// runtime/records/checkpoint/writer/snapshot.h -- Snapshot: a copy of what a rank writes, in host
// memory, so that training goes on while it is written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/device.h"
#include "runtime/records/checkpoint/writer/shards.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class Snapshot {
 public:
  // The device must outlive this.
  explicit Snapshot(Device& device);

  // Takes memory for the tensors that replicas share out and this one writes whole, and for the
  // parts that it sends to others. `shards`: of all replicas; `writers`: by shard, as writers_of().
  // Throws Error(Resource) when there is no memory.
  void make_room(const std::vector<Shard>& shards, const std::vector<int>& writers, int replica);
  // Collective over the replicas, after make_room() with the same arguments. Gathers each
  // shared-out tensor on the replica that writes it, and puts it there in the place of the part in
  // `shards`. Waits for the device.
  void assemble(std::vector<Shard>& shards, const std::vector<int>& writers, int replica,
                Collective& replicas);
  // Puts a copy in the place of every other tensor of `shards`, those that this replica writes. The
  // copies stay as they are until the next take(). The first call takes their memory and later ones
  // use it again, for tensors of the same sizes. Waits for the device. Throws Error(Resource) when
  // there is no memory.
  void take(std::vector<Shard>& shards);

  // Bytes of host memory that this holds, 0 before the first take(). The device's own counts lack
  // them.
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }

 private:
  // `number`: of the tensor among those that this replica writes.
  [[nodiscard]] Tensor room_for(const Shape& shape, DType dtype, size_t number);
  void copy_down(std::span<std::byte> to, const Tensor& tensor);
  void take_parts(PlacedTensor& tensor, size_t number, int replica, Collective& replicas);
  void give_part(const Tensor& part, int to, Collective& replicas);

  Device& device_;
  // Memory for copies on a device whose memory the host addresses. It is not taken from the
  // device's own cache, or the next step would lack it there.
  std::unique_ptr<Memory> own_;
  Memory& memory_;
  std::vector<Tensor> copies_;         // after own_: they are its
  std::vector<std::byte> on_its_way_;  // from a device to another replica
  int64_t size_bytes_ = 0;
};

}  // namespace penstock
