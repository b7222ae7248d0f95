// runtime/planning/schedule/proof/evidence.h -- the checks of verify(), and what they share:
// Positions and Evidence. Private to this room.
//
// Checks run in the order in which verify() calls them, and each relies on those before it: once
// both ends of every message are there, order can be compared; once order holds on every rank, only
// a circle of waits is left to look for.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/schedule/edges.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

inline constexpr int kAbsent = -1;

// The place of each instruction in the program of its stage's rank. The constructor refuses an
// instruction that stands twice.
class Positions {
 public:
  explicit Positions(const Schedule& schedule);

  // The place of an instruction of one micro-batch; kAbsent where there is none.
  [[nodiscard]] int of(const Instruction& i) const { return table_[slot(i)]; }
  [[nodiscard]] bool has(const Instruction& i) const { return of(i) != kAbsent; }
  // Whether the schedule has any instruction of that op.
  [[nodiscard]] bool any_of(Op op) const { return seen_[static_cast<size_t>(op)]; }

 private:
  // A row of one entry per micro-batch for each compute op of each stage, then one for each kind of
  // message of each edge.
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
  std::vector<int> table_;
  std::vector<bool> seen_ = std::vector<bool>(static_cast<size_t>(Op::OptimizerStep) + 1, false);
};

// A well-formed schedule (well_formed.h) and what is known about it.
struct Evidence {
  const Schedule& schedule;
  const Positions& positions;
  const Edges& edges;
  bool training;  // false: evaluation, there is no backward

  [[nodiscard]] int rank_of(int stage) const { return schedule.rank_of_stage[stage]; }
  // The instruction that makes a micro-batch's input gradient (Backward or BackwardInput), and the
  // one that adds its weight gradient (Backward or BackwardWeight).
  [[nodiscard]] Instruction input_gradient(int stage, int micro_batch) const;
  [[nodiscard]] Instruction weight_gradient(int stage, int micro_batch) const;
  // The place of an instruction that the schedule has, in words for error messages.
  [[nodiscard]] std::string where(const Instruction& instruction) const;
};

// Throws std::invalid_argument("bad schedule: ...").
[[noreturn]] void refuse_schedule(const std::string& message);
// Refuses if `first` does not stand before `second`; both must be there, on one rank.
void require_order(const Evidence& e, const Instruction& first, const Instruction& second);
// Refuses because the rank of its stage lacks an instruction.
[[noreturn]] void refuse_missing(const Evidence& e, const Instruction& missing,
                                 const std::string& why);

// verify_compute.cpp
void check_computes(const Evidence& e);       // every compute instruction is there, once
void check_compute_order(const Evidence& e);  // each after those it needs; micro-batches ascend
void check_step_end(const Evidence& e);       // places of ReduceGradients and OptimizerStep

// verify_messages.cpp
void check_both_ends(const Evidence& e);      // every message has a sender and a receiver
void check_message_order(const Evidence& e);  // sent after it is made, received in time for its use
void check_first_in_first_out(const Evidence& e);  // both ends of an edge have one order
void check_deadlock(const Evidence& e, const TransportRules& rules);  // no circle of waits

}  // namespace penstock
