// runtime/records/checkpoint/writer/snapshot.h -- Snapshot: copies the tensors that a rank writes
// to a checkpoint into host memory, so that training can change them while the copies are written.
//
// Where replicas share a tensor (each holds a range of its elements), the replica that writes it
// first collects the ranges of the others. The order of calls for a checkpoint: make_room(),
// assemble() if any tensor is shared, take(). The shards and their writers are those of shards.h.
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

  // Allocates memory for the shared tensors that this replica writes as a whole, and for sending
  // its ranges of other tensors. `shards`: all shards of this rank's stage, whichever replica
  // writes them; `writers`: by shard, the replica that writes it (writers_of()); `replica`: the
  // number of this one. Throws Error(Resource) when there is too little memory.
  void make_room(const std::vector<Shard>& shards, const std::vector<int>& writers, int replica);
  // Collective over `replicas`, after make_room() with the same arguments. Sends the ranges of each
  // shared tensor to the replica that writes it. There the whole tensor, in host memory, takes the
  // place of the range in `shards`. Blocks until the device has done its work.
  void assemble(std::vector<Shard>& shards, const std::vector<int>& writers, int replica,
                Collective& replicas);
  // Replaces every tensor in `shards` that assemble() has not replaced by a copy in host memory.
  // `shards` are now only those that this replica writes. The copies are valid until the next
  // take() or assemble(), which use the same memory again where sizes are the same. Blocks until
  // the device has done its work. Throws Error(Resource) when there is too little memory.
  void take(std::vector<Shard>& shards);

  // Gives the memory of all copies back to the system, for a rank that goes on with other tensors.
  void release();

  // The bytes of host memory that the copies take; 0 before the first checkpoint. The device's own
  // statistics do not count them.
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }

 private:
  // Memory for the copy of a tensor; `number` is its number among those that this replica writes.
  [[nodiscard]] Tensor room_for(const Shape& shape, DType dtype, size_t number);
  // Copies a tensor of the device to host memory.
  void copy_down(std::span<std::byte> to, const Tensor& tensor);
  // Receives the ranges of a shared tensor from the other replicas, and puts it together.
  void take_parts(PlacedTensor& tensor, size_t number, int replica, Collective& replicas);
  // Sends this replica's range of a shared tensor to the replica `to`.
  void give_part(const Tensor& part, int to, Collective& replicas);

  Device& device_;
  // Host memory for the copies where the host can address the device's memory; else null. The
  // device's own allocator is not used, since its cached memory is for the next step.
  std::unique_ptr<Memory> own_;
  Memory& memory_;                     // own_, or the device's allocator of host memory
  std::vector<Tensor> copies_;         // by number; declared after own_, from which they may be
  std::vector<std::byte> on_its_way_;  // a range between a GPU's memory and another replica
  int64_t size_bytes_ = 0;
};

}  // namespace penstock
