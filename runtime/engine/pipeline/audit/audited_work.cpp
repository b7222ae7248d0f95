#include "runtime/engine/pipeline/audit/audited_work.h"

#include <utility>

namespace penstock {
namespace {

class Ring {
 public:
  Ring(Collective& replicas, Device& device) : replicas_(replicas), device_(device) {}

  // Ranks of even number give first and the other ranks take first. Giving waits until the other
  // rank takes, so ranks that all gave first would wait for ever.
  void exchange(std::span<const std::byte> mine, std::span<std::byte> theirs) {
    const int rank = replicas_.rank();
    const int next = (rank + 1) % replicas_.size();
    if (rank % 2 == 0) replicas_.give(mine, next);
    replicas_.take(theirs, previous());
    if (rank % 2 != 0) replicas_.give(mine, next);
  }
  [[nodiscard]] int previous() const {
    return (replicas_.rank() + replicas_.size() - 1) % replicas_.size();
  }

  [[nodiscard]] Tensor exchange(const Tensor& mine) {
    if (!mine) return {};
    Tensor theirs = device_.empty(mine.shape(), mine.dtype(), Purpose::Workspace);
    const size_t size_bytes = mine.size_bytes();
    if (device_.host_addressable()) {
      exchange({static_cast<const std::byte*>(mine.raw()), size_bytes},
               {static_cast<std::byte*>(theirs.raw()), size_bytes});
      return theirs;
    }
    std::vector<std::byte> out(size_bytes);
    std::vector<std::byte> in(size_bytes);
    device_.copy_to_host(out.data(), mine, size_bytes);
    exchange(out, in);
    device_.copy_from_host(theirs, in.data(), size_bytes);
    device_.synchronize();  // `in` is freed on return
    return theirs;
  }
  [[nodiscard]] std::vector<Tensor> exchange_all(const std::vector<Tensor>& mine) {
    std::vector<Tensor> theirs;
    theirs.reserve(mine.size());
    for (const Tensor& tensor : mine) theirs.push_back(exchange(tensor));
    return theirs;
  }

 private:
  Collective& replicas_;
  Device& device_;
};

}  // namespace

AuditedWork pass_on(const AuditedWork& mine, Collective& replicas, Device& device) {
  Ring ring(replicas, device);
  AuditedWork theirs;
  theirs.batch.names = mine.batch.names;
  theirs.batch.samples = mine.batch.samples;
  theirs.batch.tensors = ring.exchange_all(mine.batch.tensors);
  theirs.inputs = ring.exchange_all(mine.inputs);
  theirs.output_gradients = ring.exchange_all(mine.output_gradients);
  theirs.before = {ring.exchange(mine.before.values), ring.exchange(mine.before.step_sums),
                   mine.before.stale};
  theirs.sums.resize(mine.sums.size());
  ring.exchange(std::as_bytes(std::span(mine.sums)),
                std::as_writable_bytes(std::span(theirs.sums)));
  return theirs;
}

}  // namespace penstock
