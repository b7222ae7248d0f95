// runtime/engine/pipeline/audit/audit.h -- Audit: does once more what one micro-batch did in one
// stage of this rank, from the same inputs, and compares the bits.
//
// An instruction that is executed twice gives the same bits, on any machine, so where it does not a
// processor or its memory has failed, silently. The micro-batch and its stage are drawn from (seed,
// step, position), the same on all replicas; all its instructions are audited: what its forward,
// its recompute and both halves of its backward made. What they start from, the inputs and the
// gradients of the outputs, is compared too, as it was at the first execution and at the second. A
// processor that is wrong in the same way each time is found by another one: with replicas, the
// rank with the same stage in the next replica repeats the work from the same bytes.
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

// The first bits that differ.
struct AuditFinding {
  std::string instruction;         // "B1.2"
  std::string what;                // "the gradient of 'blocks.3.linear.weight'"
  uint64_t first = 0, second = 0;  // its checksums at the two executions
  int replica = -1;  // the replica whose work it was; -1: both executions are this rank's
};

class Audit {
 public:
  // `program` is that of this rank, whose position in its pipeline is `position`. Nothing is
  // audited where it has no Audit instruction. `replicas`: the ranks that hold these stages, each
  // of which also repeats the work of the one before; null: none does.
  Audit(const std::vector<Instruction>& program, int position, int micro_batches, Device& device,
        Collective* replicas = nullptr);

  // begin() is called before an audited step and draws its micro-batch; end() is called before any
  // other step.
  void begin(uint64_t seed, int64_t step);
  void end();
  [[nodiscard]] bool under_way() const { return cell_.has_value(); }
  // Whether this compute instruction is executed again.
  [[nodiscard]] bool covers(const Instruction& instruction) const {
    return cell_ && cell_->stage == instruction.stage &&
           cell_->micro_batch == instruction.micro_batch && is_compute(instruction.op);
  }

  // Called around the instructions of the audited micro-batch; tensors are kept by reference.
  void before_forward(Stage& stage, const Tensors& inputs, const Batch& batch);
  void before_input_half(const Tensors& output_gradients);
  void before_weight_half(Stage& stage) { stage.record_gradients(first_); }
  void after_input_half(const Tensors& input_gradients);
  // Called at the program's Audit instruction: executes the micro-batch again. Collective over the
  // replicas. `pass` is the step's.
  void repeat(Stage& stage, const Pass& pass);
  // The stage of the micro-batch that is under audit.
  [[nodiscard]] int stage() const { return cell_->stage; }

  // The first difference, if any, after repeat(). Waits for the device.
  [[nodiscard]] std::optional<AuditFinding> finding() const;
  // The checksums of the first and of the second execution in the last audit, in a fixed order.
  // Compared with those of another audit of the same micro-batch they tell which execution was
  // wrong.
  [[nodiscard]] std::vector<uint64_t> first_sums() const;
  [[nodiscard]] std::vector<uint64_t> second_sums() const;

 private:
  void do_again(Stage& stage, const Pass& pass, const AuditedWork& work, CellSums& sums);
  [[nodiscard]] std::optional<AuditFinding> difference(const std::vector<uint64_t>& first,
                                                       const CellSums& second) const;

  std::vector<AuditedCell> cells_;
  bool halves_apart_ = false;  // backwards run as two instructions
  int position_, micro_batches_;
  Device& device_;
  Collective* replicas_;
  std::optional<AuditedCell> cell_;
  AuditedWork work_;
  CellSums first_, second_, neighbours_;    // neighbours_: the previous replica's work, done here
  std::vector<uint64_t> neighbours_first_;  // what that replica had itself; empty: no replicas
};

}  // namespace penstock
