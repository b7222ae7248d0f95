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

class Counting : public CountingDevice {
 public:
  // `source`: where tensors are. `spent` (may be empty) is called with the seconds of each op.
  Counting(const DeviceModel& model, std::unique_ptr<MemorySource> source, Tally::Spent spent = {})
      : memory_(std::move(source)),
        tally_(model, memory_, std::move(spent)),
        dense_(counting_dense_ops(tally_)),
        image_(counting_image_ops(tally_)),
        norm_(counting_norm_ops(tally_)),
        pointwise_(counting_pointwise_ops(tally_)),
        layout_(counting_layout_ops(tally_)),
        attention_(counting_attention_ops(tally_)),
        token_(counting_token_ops(tally_)),
        update_(counting_update_ops(tally_)) {}

  [[nodiscard]] const OpCount& count() const override { return tally_.count(); }
  [[nodiscard]] std::string description() const override { return tally_.model().name + " model"; }
  [[nodiscard]] DeviceModel model() const override { return tally_.model(); }
  [[nodiscard]] bool native_bf16() const override { return !tally_.model().emulates_bf16; }
  [[nodiscard]] bool host_addressable() const override { return false; }
  [[nodiscard]] bool holds_values() const override { return false; }
  void synchronize() override {}
  void copy_from_host(Tensor& /*to*/, const void* /*from*/, size_t /*size_bytes*/) override {}
  void copy_to_host(void* to, const Tensor& /*from*/, size_t size_bytes) override {
    std::memset(to, 0, size_bytes);
  }
  [[nodiscard]] int64_t primitives_created() const override { return 0; }

  DenseOps& dense() override { return *dense_; }
  ImageOps& image() override { return *image_; }
  NormOps& norm() override { return *norm_; }
  PointwiseOps& pointwise() override { return *pointwise_; }
  LayoutOps& layout() override { return *layout_; }
  AttentionOps& attention() override { return *attention_; }
  TokenOps& token() override { return *token_; }
  UpdateOps& update() override { return *update_; }
  Memory& memory() override { return memory_; }

 private:
  Memory memory_;
  Tally tally_;
  std::unique_ptr<DenseOps> dense_;
  std::unique_ptr<ImageOps> image_;
  std::unique_ptr<NormOps> norm_;
  std::unique_ptr<PointwiseOps> pointwise_;
  std::unique_ptr<LayoutOps> layout_;
  std::unique_ptr<AttentionOps> attention_;
  std::unique_ptr<TokenOps> token_;
  std::unique_ptr<UpdateOps> update_;
};

}  // namespace penstock
