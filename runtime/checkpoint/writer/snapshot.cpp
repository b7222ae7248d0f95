#include "runtime/checkpoint/writer/snapshot.h"

#include <cstring>

namespace penstock {

Snapshot::Snapshot(Device& device)
    : device_(device),
      own_(device.host_addressable() ? std::make_unique<Memory>(host_memory_source()) : nullptr),
      memory_(own_ ? *own_ : device.host_memory()) {}

Tensor Snapshot::copy_of(const Tensor& tensor, size_t number) {
  if (copies_.size() <= number) copies_.resize(number + 1);
  Tensor& copy = copies_[number];
  const size_t size_bytes = tensor.size_bytes();
  if (!copy || copy.size_bytes() != size_bytes || copy.dtype() != tensor.dtype()) {
    size_bytes_ -= copy ? static_cast<int64_t>(copy.size_bytes()) : 0;
    copy.reset();
    copy = Tensor(memory_.take(size_bytes, Purpose::Communication), tensor.shape(), tensor.dtype());
    size_bytes_ += static_cast<int64_t>(size_bytes);
  }
  if (device_.host_addressable()) {
    std::memcpy(copy.raw(), tensor.raw(), size_bytes);
  } else {
    device_.copy_to_host(copy.raw(), tensor, size_bytes);
  }
  return copy.reshaped(tensor.shape());
}

void Snapshot::take(std::vector<Shard>& shards) {
  device_.synchronize();
  size_t number = 0;
  for (Shard& shard : shards) {
    for (NamedTensor& named : shard.tensors) named.tensor = copy_of(named.tensor, number++);
  }
}

}  // namespace penstock
