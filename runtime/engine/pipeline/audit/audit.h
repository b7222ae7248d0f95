// runtime/engine/pipeline/audit/audit.h -- Audit: looks for silent hardware errors, by executing
// the work of one micro-batch in one stage of this rank a second time and comparing the bits of the
// results.
//
// Penstock's arithmetic is deterministic: an instruction that is executed twice from the same
// inputs gives the same bits. Where it does not, a processor or its memory has failed. In an
// audited step (every run.audit steps) one pair of micro-batch and stage is drawn at random from
// (seed, step, the rank's position in the pipeline), the same on all replicas. Its checksums are
// taken at the first execution, its inputs kept, and at the program's Audit instruction everything
// is done again: its forward, its recompute and both halves of its backward (the gradients of the
// inputs, and of the weights). Inputs are compared as well, as they were at both executions.
//
// A processor that is wrong in the same way each time shows no difference on its own rank. So where
// there are replicas, the rank with the same stage in the next replica repeats the work, too, from
// the same bytes. docs/audits.md describes audits; step_audit.h uses this. docs/concepts.md
// explains stage, replica, micro-batch and schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/pipeline/audit/audited_work.h"
#include "runtime/network/stage/stage.h"
#include "runtime/planning/schedule/audits.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// A difference that an audit has found: the first tensor whose checksums differ.
struct AuditFinding {
  std::string instruction;  // "B1.2": the backward (F, B, I, W ...) of micro-batch 2 in stage 1
  std::string what;         // "the gradient of 'blocks.3.linear.weight'"
  uint64_t first = 0, second = 0;  // the checksums of that tensor at the two executions
  // The replica whose work was repeated here; -1: both executions are this rank's.
  int replica = -1;
};

class Audit {
 public:
  // `program` is that of this rank, whose position in its pipeline is `position`; without an Audit
  // instruction in it nothing is audited. `micro_batches`: those of one replica. `replicas`: the
  // group of ranks that hold the same stages, each of which also repeats the work of the previous
  // one; null: each rank repeats its own work alone.
  Audit(const std::vector<Instruction>& program, int position, int micro_batches, Device& device,
        Collective* replicas = nullptr);

  // Called before the first instruction of an audited step: draws the micro-batch and the stage.
  // end() is called before a step that is not audited, and forgets them.
  void begin(uint64_t seed, int64_t step);
  void end();
  // Whether this step is audited.
  [[nodiscard]] bool under_way() const { return cell_.has_value(); }
  // Whether this instruction belongs to the micro-batch and stage that are audited, and computes.
  [[nodiscard]] bool covers(const Instruction& instruction) const {
    return cell_ && cell_->stage == instruction.stage &&
           cell_->micro_batch == instruction.micro_batch && is_compute(instruction.op);
  }

  // The executor calls these four around the instructions for which covers() is true, as their
  // names say. They take checksums and keep references to the tensors. before_weight_half() comes
  // before the gradients of the weights are added; it is called for a backward in one piece, too.
  void before_forward(Stage& stage, const Tensors& inputs, const Batch& batch);
  void before_input_half(const Tensors& output_gradients);
  void before_weight_half(Stage& stage) { stage.record_gradients(first_); }
  void after_input_half(const Tensors& input_gradients);
  // Called at the program's Audit instruction, when under_way(): executes the micro-batch again in
  // `stage`, the one with index stage(). `pass` is that of the step. Collective over the replicas.
  void repeat(Stage& stage, const Pass& pass);
  // The index of the stage that is audited. Valid while under_way().
  [[nodiscard]] int stage() const { return cell_->stage; }

  // The first difference, if any. Called after repeat(); waits for the device.
  [[nodiscard]] std::optional<AuditFinding> finding() const;
  // The checksums of the first and of the second execution in the last audit, in a fixed order.
  // When the step is taken again, a comparison of both with the new ones tells which execution was
  // wrong.
  [[nodiscard]] std::vector<uint64_t> first_sums() const;
  [[nodiscard]] std::vector<uint64_t> second_sums() const;

 private:
  // Executes the micro-batch from `work` and adds its checksums to `sums`.
  void do_again(Stage& stage, const Pass& pass, const AuditedWork& work, CellSums& sums);
  [[nodiscard]] std::optional<AuditFinding> difference(const std::vector<uint64_t>& first,
                                                       const CellSums& second) const;

  std::vector<AuditedCell> cells_;  // the pairs of micro-batch and stage that may be drawn
  bool halves_apart_ = false;       // the program has backwards as two instructions, I and W
  int position_, micro_batches_;
  Device& device_;
  Collective* replicas_;
  std::optional<AuditedCell> cell_;  // the pair that is audited; nothing: this step is not
  AuditedWork work_;                 // the first execution's inputs, on this rank
  // neighbours_: of the previous replica's work, repeated here.
  CellSums first_, second_, neighbours_;
  // The checksums that the previous replica had itself; empty: there are no replicas.
  std::vector<uint64_t> neighbours_first_;
};

}  // namespace penstock
