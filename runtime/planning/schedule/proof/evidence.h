// runtime/planning/schedule/proof/evidence.h -- the single checks that verify() (verify.h) makes of
// a schedule, and the tables that they share. Used only inside this folder.
//
// verify() makes Positions (where each instruction stands) and an Evidence (the schedule with its
// tables), and calls the check_...() functions in the order in which they are declared below. Each
// check relies on those before it: only when every message has a sender and a receiver can their
// order be compared; only when the order is right on every rank can a deadlock be told from a
// misplaced instruction.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/schedule/edges.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The place of an instruction that no program has.
inline constexpr int kAbsent = -1;

// The place (index from 0) of each instruction in the program of the rank that holds its stage. The
// constructor throws std::invalid_argument if an instruction stands in a program twice.
class Positions {
 public:
  explicit Positions(const Schedule& schedule);

  // The place of a compute instruction or message; kAbsent if no program has it.
  [[nodiscard]] int of(const Instruction& i) const { return table_[slot(i)]; }
  [[nodiscard]] bool has(const Instruction& i) const { return of(i) != kAbsent; }
  // Whether the schedule has any instruction of that op.
  [[nodiscard]] bool any_of(Op op) const { return seen_[static_cast<size_t>(op)]; }

 private:
  // The index in table_. The table has rows with one entry per micro-batch: first a row for each
  // pair (compute op, stage), then a row for each pair (kind of message, edge).
  [[nodiscard]] size_t slot(const Instruction& i) const {
    constexpr size_t kComputeOps = static_cast<size_t>(Op::Backward) + 1;
    const auto op = static_cast<size_t>(i.op);
    const size_t row = is_compute(i.op) ? op * stages_ + i.stage
                                        : kComputeOps * stages_ +
                                              (op - kComputeOps) * edges_.count() + edges_.of(i);
    return row * micro_batches_ + i.micro_batch;
  }

  Edges edges_;
  size_t stages_;
  size_t micro_batches_;
  std::vector<int> table_;  // by slot()
  // One per op: whether any program has it.
  std::vector<bool> seen_ = std::vector<bool>(static_cast<size_t>(Op::OptimizerStep) + 1, false);
};

// What each check reads: a well-formed schedule (well_formed.h) and its tables. Owns nothing.
struct Evidence {
  const Schedule& schedule;
  const Positions& positions;
  const Edges& edges;
  bool training;  // false: an evaluation, which has no backwards

  [[nodiscard]] int rank_of(int stage) const { return schedule.rank_of_stage[stage]; }
  // The instruction that computes the gradient of the stage's input for a micro-batch (Backward or
  // BackwardInput, whichever the schedule has), and the instruction that adds the gradients of its
  // weights (Backward or BackwardWeight).
  [[nodiscard]] Instruction input_gradient(int stage, int micro_batch) const;
  [[nodiscard]] Instruction weight_gradient(int stage, int micro_batch) const;
  // The instruction and its place in words for error messages; the schedule must have it.
  [[nodiscard]] std::string where(const Instruction& instruction) const;
};

// Throws std::invalid_argument("bad schedule: " + message).
[[noreturn]] void refuse_schedule(const std::string& message);
// Throws by refuse_schedule() unless `first` stands before `second`. Both must be in the program of
// the same rank.
void require_order(const Evidence& e, const Instruction& first, const Instruction& second);
// Throws by refuse_schedule() with the sentence that the instruction `missing` is not in the
// program of its stage's rank, and `why` it is needed.
[[noreturn]] void refuse_missing(const Evidence& e, const Instruction& missing,
                                 const std::string& why);

// The checks. Each throws by refuse_schedule() at the first instruction that is wrong.

// Every forward, backward and recompute that a step needs is there (verify_compute.cpp).
void check_computes(const Evidence& e);
// Each compute instruction comes after those that it needs, and micro-batches ascend in a stage.
void check_compute_order(const Evidence& e);
// ReduceGradients and OptimizerStep stand where they must.
void check_step_end(const Evidence& e);

// Every message has a sender and a receiver (verify_messages.cpp).
void check_both_ends(const Evidence& e);
// Each message is sent after its tensor is computed, and received before the tensor is used.
void check_message_order(const Evidence& e);
// Messages from one stage to another are received in the order in which they are sent.
void check_first_in_first_out(const Evidence& e);
// No ranks wait for one another in a circle, under the rules by which sends wait.
void check_deadlock(const Evidence& e, const TransportRules& rules);

}  // namespace penstock
