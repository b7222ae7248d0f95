// kernels/counting/counting.h -- what devices that only count have in common: every op adds to a
// tally, and nothing is computed. Private to kernels/counting.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "kernels/counting/counting_device.h"
#include "kernels/counting/tally.h"

namespace penstock {

// The device that make_counting_device() returns, on which the pacing device is built, too. Its ops
// are those of tally.h; copies from the host do nothing, and copies to the host write zeros.
class Counting : public CountingDevice {
 public:
  // `source` gives tensors their addresses; this takes it over. `spent` (may be empty) is called
  // with the seconds of each op.
  Counting(const DeviceModel& model, std::unique_ptr<MemorySource> source, Tally::Spent spent = {})
      : memory_(std::move(source)),
        tally_(model, memory_, std::move(spent)),
        ops_{.dense = counting_dense_ops(tally_),
             .image = counting_image_ops(tally_),
             .row_norm = counting_row_norm_ops(tally_),
             .batch_norm = counting_batch_norm_ops(tally_),
             .activation = counting_activation_ops(tally_),
             .pointwise = counting_pointwise_ops(tally_),
             .layout = counting_layout_ops(tally_),
             .attention = counting_attention_ops(tally_),
             .token = counting_token_ops(tally_),
             .experts = counting_expert_ops(tally_),
             .update = counting_update_ops(tally_)} {
    set_facts({.description = model.name + " model",
               .model = model,
               .native_bf16 = !model.emulates_bf16,
               .host_addressable = false,
               .holds_values = false});
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
