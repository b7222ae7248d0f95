// runtime/schedule/evidence.h -- what the checks of verify() share; private to this room.
//
// Checks run in the order in which verify() calls them, and each relies on those before it: once
// both ends of every message are there, order can be compared; once order holds on every rank, only
// a circle of waits is left to look for.
#pragma once

#include <string>
#include <vector>

#include "runtime/schedule/schedule.h"

namespace penstock {

inline constexpr int kAbsent = -1;

// Where each instruction stands in the program of its stage's rank. Refuses doubled ones.
class Positions {
 public:
  explicit Positions(const Schedule& schedule);

  [[nodiscard]] int of(Op op, int stage, int micro_batch) const {
    return table_[slot(op, stage, micro_batch)];
  }
  [[nodiscard]] int of(const Instruction& i) const { return of(i.op, i.stage, i.micro_batch); }
  [[nodiscard]] bool has(Op op, int stage, int micro_batch) const {
    return of(op, stage, micro_batch) != kAbsent;
  }
  [[nodiscard]] bool any_of(Op op) const { return seen_[static_cast<size_t>(op)]; }

 private:
  static constexpr size_t kPerMicroBatch = static_cast<size_t>(Op::RecvGradient) + 1;

  [[nodiscard]] size_t slot(Op op, int stage, int micro_batch) const {
    return (static_cast<size_t>(op) * stages_ + stage) * micro_batches_ + micro_batch;
  }

  size_t stages_;
  size_t micro_batches_;
  std::vector<int> table_;
  std::vector<bool> seen_ = std::vector<bool>(static_cast<size_t>(Op::OptimizerStep) + 1, false);
};

// A well-formed schedule (form.h) and what is known about it.
struct Evidence {
  const Schedule& schedule;
  const Positions& positions;
  bool training;  // false: evaluation, there is no backward

  [[nodiscard]] int rank_of(int stage) const { return schedule.rank_of_stage[stage]; }
  // Where a present instruction stands, for messages.
  [[nodiscard]] std::string where(const Instruction& instruction) const;
};

// Throws std::invalid_argument("bad schedule: ...").
[[noreturn]] void refuse_schedule(const std::string& message);
// The same for an instruction that rank_of(its stage) should have.
[[noreturn]] void refuse_missing(const Evidence& e, const Instruction& missing,
                                 const std::string& why);

// verify_compute.cpp
void check_computes(const Evidence& e);     // all of them, once
void check_local_order(const Evidence& e);  // dependencies on one rank; ascending micro-batches
void check_step_end(const Evidence& e);     // ReduceGradients and OptimizerStep

// verify_messages.cpp
void check_both_ends(const Evidence& e);           // every message has a sender and a receiver
void check_first_in_first_out(const Evidence& e);  // and both ends the same order
void check_deadlock(const Evidence& e);            // no circle of waits

}  // namespace penstock
