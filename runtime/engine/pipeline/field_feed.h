// runtime/engine/pipeline/field_feed.h -- FieldFeed: brings the batch fields of a run to where the
// device reads them. A device with memory of its own is sent them a few micro-batches before their
// first use, while it computes, and frees them after the last; others read the loader's memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/device.h"
#include "runtime/data/datasets/dataset.h"
#include "runtime/planning/schedule/timing/data_use.h"

namespace penstock {

class FieldFeed {
 public:
  // `reads`: whether a stage reads fields, by stage.
  FieldFeed(std::span<const Instruction> program, const std::vector<bool>& reads, Device& device);

  // `batches`, by micro-batch, must stay as they are until the run has ended on the device.
  void begin(std::span<const Batch> batches);
  // Called around each instruction of the program, with its index.
  void before(size_t instruction);
  void after(size_t instruction);
  void end();  // called after the last instruction: frees what is left

  // The fields of a micro-batch, on the device between their first use and their last.
  [[nodiscard]] const Batch& batch(int micro_batch) const {
    return batches_[static_cast<size_t>(micro_batch)];
  }
  // Whether this run copies the host's batches to the device.
  [[nodiscard]] bool uploads() const { return !uploaded_.empty(); }

 private:
  void start(size_t place);  // of DataUse::order

  DataUse use_;
  std::vector<int> first_used_, last_used_;  // by instruction: a place in use_.order; -1: none
  Device& device_;
  std::unique_ptr<UploadLane> lane_;  // null: the device reads the host's memory
  std::span<const Batch> host_, batches_;
  std::vector<Batch> uploaded_;  // by micro-batch; empty where the host's will do
};

}  // namespace penstock
