// kernels/counting/counting.h -- what devices that only count have in common: every op adds to a
// tally, and nothing is computed. Private to kernels/counting.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "kernels/counting/counting_device.h"
#include "kernels/counting/tally.h"

namespace penstock {

// A CountingDevice, or a device that is more than that, without its facts. Its ops are those of
// tally.h; copies from the host do nothing, and copies to the host write zeros.
template <class Base>
class Counting : public Base {
 public:
  // `source` gives tensors their addresses; this takes it over. `spent` (may be empty) is called
  // with the seconds of each op.
  Counting(const DeviceModel& model, std::unique_ptr<MemorySource> source, Tally::Spent spent = {})
      : memory_(std::move(source)), tally_(model, memory_, std::move(spent)) {
    add_product_ops(ops_, tally_);
    add_pass_ops(ops_, tally_);
    add_expert_ops(ops_, tally_);
  }

  [[nodiscard]] const OpCount& count() const override { return tally_.count(); }
  void synchronize() override {}
  void copy_from_host(Tensor& /*to*/, const void* /*from*/, size_t /*size_bytes*/) override {}
  void copy_to_host(void* to, const Tensor& /*from*/, size_t size_bytes) override {
    std::memset(to, 0, size_bytes);
  }

  OpSet& ops() override { return ops_; }
  Memory& memory() override { return memory_; }

 private:
  Memory memory_;
  Tally tally_;
  OpSet ops_;
};

}  // namespace penstock
