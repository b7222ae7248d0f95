#include "runtime/records/checkpoint/writer/snapshot.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

std::span<std::byte> bytes_of(const Tensor& tensor, int64_t first, int64_t elements) {
  const size_t size = size_of(tensor.dtype());
  return {static_cast<std::byte*>(tensor.raw()) + static_cast<size_t>(first) * size,
          static_cast<size_t>(elements) * size};
}

}  // namespace

Snapshot::Snapshot(Device& device)
    : device_(device),
      own_(device.host_addressable() ? std::make_unique<Memory>(host_memory_source()) : nullptr),
      memory_(own_ ? *own_ : device.host_memory()) {}

// Returns room for the copy with this number. The memory of the last take() is used again if size
// and type are the same.
Tensor Snapshot::room_for(const Shape& shape, DType dtype, size_t number) {
  if (copies_.size() <= number) copies_.resize(number + 1);
  Tensor& copy = copies_[number];
  const size_t size_bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
  if (!copy || copy.size_bytes() != size_bytes || copy.dtype() != dtype) {
    size_bytes_ -= copy ? static_cast<int64_t>(copy.size_bytes()) : 0;
    copy.reset();
    copy = Tensor(memory_.take(size_bytes, Purpose::Communication), shape, dtype);
    size_bytes_ += static_cast<int64_t>(size_bytes);
  }
  return copy.reshaped(shape);
}

void Snapshot::copy_down(std::span<std::byte> to, const Tensor& tensor) {
  if (device_.host_addressable()) {
    std::memcpy(to.data(), tensor.raw(), to.size());
  } else {
    device_.copy_to_host(to.data(), tensor, to.size());
  }
}

void Snapshot::make_room(const std::vector<Shard>& shards, const std::vector<int>& writers,
                         int replica) {
  size_t number = 0;
  size_t largest = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (const PlacedTensor& tensor : shards[i].tensors) {
      if (writers[i] == replica) {
        if (tensor.is_part()) (void)room_for(tensor.shape(), tensor.named.tensor.dtype(), number);
        ++number;
      } else if (tensor.is_part() && !device_.host_addressable()) {
        largest = std::max(largest, tensor.named.tensor.size_bytes());
      }
    }
  }
  on_its_way_.resize(largest);
}

namespace {

// Throws if the part of a replica has not the length that the other replicas expect.
void check_part(const PlacedTensor& tensor, int replica) {
  if (!tensor.is_part()) return;
  const auto r = static_cast<size_t>(replica);
  const int64_t expected = tensor.cuts.at(r + 1) - tensor.cuts[r];
  if (tensor.named.tensor.elements() == expected) return;
  fail_internal(tensor.named.name + " has " + std::to_string(tensor.named.tensor.elements()) +
                " elements here, and its part has " + std::to_string(expected));
}

}  // namespace

void Snapshot::assemble(std::vector<Shard>& shards, const std::vector<int>& writers, int replica,
                        Collective& replicas) {
  device_.synchronize();
  size_t number = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (PlacedTensor& tensor : shards[i].tensors) {
      const bool is_written_here = writers[i] == replica;
      check_part(tensor, replica);
      if (!tensor.is_part()) {
        number += is_written_here ? 1 : 0;
      } else if (is_written_here) {
        take_parts(tensor, number++, replica, replicas);
      } else {
        give_part(tensor.named.tensor, writers[i], replicas);
      }
    }
  }
}

void Snapshot::take_parts(PlacedTensor& tensor, size_t number, int replica, Collective& replicas) {
  const Tensor whole = room_for(tensor.shape(), tensor.named.tensor.dtype(), number);
  for (int r = 0; r < replicas.size(); ++r) {
    const int64_t first = tensor.cuts[static_cast<size_t>(r)];
    const auto part = bytes_of(whole, first, tensor.cuts[static_cast<size_t>(r) + 1] - first);
    if (r != replica) {
      replicas.take(part, r);
    } else if (!part.empty()) {
      copy_down(part, tensor.named.tensor);
    }
  }
  tensor.named.tensor = whole;
}

void Snapshot::give_part(const Tensor& part, int to, Collective& replicas) {
  const size_t size_bytes = part.size_bytes();
  if (size_bytes == 0) return;
  if (device_.host_addressable()) return replicas.give(bytes_of(part, 0, part.elements()), to);
  copy_down(std::span(on_its_way_).first(size_bytes), part);
  replicas.give(std::span(on_its_way_).first(size_bytes), to);
}

void Snapshot::take(std::vector<Shard>& shards) {
  device_.synchronize();
  size_t number = 0;
  for (Shard& shard : shards) {
    for (PlacedTensor& tensor : shard.tensors) {
      const size_t own = number++;
      if (tensor.is_part()) continue;  // assembled already
      const Tensor from = tensor.named.tensor;
      tensor.named.tensor = room_for(from.shape(), from.dtype(), own);
      copy_down(bytes_of(tensor.named.tensor, 0, from.elements()), from);
    }
  }
}

void Snapshot::release() {
  copies_.clear();
  size_bytes_ = 0;
  memory_.trim();
}

}  // namespace penstock
