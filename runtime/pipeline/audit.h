// runtime/pipeline/audit.h -- Audit: does once more what one micro-batch did in one stage of this
// rank, from the same inputs, and compares the bits.
//
// An instruction that is executed twice gives the same bits, on any machine, so where it does not a
// processor or its memory has failed, silently. Which micro-batch of which stage it is, is drawn
// from (seed, step, position), the same on all replicas; all its instructions are audited: what its
// forward, its recompute and both halves of its backward made. What was kept for it, the inputs and
// the gradients of the outputs, is compared, too, before and after.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/schedule/audits.h"
#include "runtime/schedule/schedule.h"
#include "runtime/stage/stage.h"

namespace penstock {

// The first bits that differ.
struct AuditFinding {
  std::string instruction;         // "B1.2"
  std::string what;                // "the gradient of 'blocks.3.linear.weight'"
  uint64_t first = 0, second = 0;  // checksums
};

class Audit {
 public:
  // `program`: this rank's, whose position in its pipeline is `position`. Audits nothing where
  // there is no Audit in it.
  Audit(const std::vector<Instruction>& program, int position, Device& device);

  // Before a step that is audited; others call end() alone.
  void begin(uint64_t seed, int64_t step);
  void end();
  [[nodiscard]] bool under_way() const { return cell_.has_value(); }
  // Whether this instruction, a compute one, is executed again.
  [[nodiscard]] bool covers(const Instruction& instruction) const {
    return cell_ && cell_->stage == instruction.stage &&
           cell_->micro_batch == instruction.micro_batch && is_compute(instruction.op);
  }

  // Around the instructions of that micro-batch; tensors are kept by reference.
  void before_forward(const Tensors& inputs, const Batch& batch);
  void after_forward(const Stage& stage, const Tensors& outputs);
  void before_input_half(const Tensors& output_gradients);
  void before_weight_half(Stage& stage) { stage.record_gradients(first_); }
  void after_input_half(const Tensors& input_gradients);
  // Where the program says so. `pass` is the step's.
  void repeat(Stage& stage, const Pass& pass);
  // The stage of the micro-batch that is under audit.
  [[nodiscard]] int stage() const { return cell_->stage; }

  // After repeat(). Waits for the device.
  [[nodiscard]] std::optional<AuditFinding> finding() const;
  // Of those checksums of the last audit, all in one row: whether an audit of the same micro-batch
  // after it has met the same in its first execution.
  [[nodiscard]] std::vector<uint64_t> first_sums() const;
  [[nodiscard]] std::vector<uint64_t> second_sums() const;

 private:
  std::vector<AuditedCell> cells_;
  bool halves_apart_ = false;  // of backwards
  bool recomputes_ = false;
  int position_;
  std::optional<AuditedCell> cell_;
  Batch batch_;
  Tensors inputs_, output_gradients_;
  CellSums first_, second_;
};

}  // namespace penstock
