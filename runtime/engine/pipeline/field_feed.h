// runtime/engine/pipeline/field_feed.h -- FieldFeed: copies the batch fields (tokens, images,
// labels) from host memory to a GPU, a few micro-batches ahead of their use.
//
// The executor calls it around every instruction. It knows from the program which instruction is
// the first to need a micro-batch and which is the last. The copy of a micro-batch to the GPU
// starts two micro-batches (kDataAhead) before its first use, while the GPU computes, and its
// memory is freed after the last use. A device that reads host memory, the CPU, uses the loader's
// batches in place; then nothing is copied.
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
  // `reads`: by stage, whether this rank holds the stage and it reads batch fields.
  FieldFeed(std::span<const Instruction> program, const std::vector<bool>& reads, Device& device);

  // Called before the first instruction of a run. `batches`, by micro-batch, are in host memory and
  // must stay as they are until the device has ended the run.
  void begin(std::span<const Batch> batches);
  // before() and after() are called around each instruction, with its index in the program.
  // before() starts copies and makes the device wait for the one that it needs; after() frees.
  void before(size_t instruction);
  void after(size_t instruction);
  // Called after the last instruction: frees what is left.
  void end();

  // The fields of a micro-batch where the device reads them. Valid between the first and the last
  // instruction that uses them.
  [[nodiscard]] const Batch& batch(int micro_batch) const {
    return batches_[static_cast<size_t>(micro_batch)];
  }
  // Whether this run copies to the device.
  [[nodiscard]] bool uploads() const { return !uploaded_.empty(); }

 private:
  // Starts the copy of the micro-batch at this place in the order of first uses.
  void start(size_t place);

  DataUse use_;  // first and last uses, from the program
  // The place, by instruction, of the micro-batch that it is the first or last to use; -1: none.
  std::vector<int> first_used_, last_used_;
  Device& device_;
  // Copies to the device; null: the device reads the host's memory.
  std::unique_ptr<UploadLane> lane_;
  std::span<const Batch> host_, batches_;  // the caller's batches; those that the device reads
  std::vector<Batch> uploaded_;  // the device's copies, by micro-batch; empty where there are none
};

}  // namespace penstock
