// runtime/planning/schedule/search/step_timer.h -- StepTimer: how long a step with given programs
// takes, worked out thousands of times a second, for a search that tries many orders.
//
// It gives what simulate() gives for the lowered schedule (proved_makespan(), problem.h), which a
// test holds, but proves nothing: programs must name each instruction once, and those of one op and
// stage in ascending order of micro-batches. It uses tables that are made once and no maps.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "runtime/planning/schedule/search/step_work.h"

namespace penstock {

// The compute instructions of each rank, in order.
using Programs = std::vector<std::vector<Instruction>>;

class StepTimer {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // `work` must outlive it.
  explicit StepTimer(const StepWork& work);

  // The end of the last instruction, where the step begins at 0. kNever: the programs deadlock or
  // a rank holds more than its limit. O(instructions), without allocations once it has been called.
  double makespan(const Programs& programs);

  // An instruction: the rank that runs it, and its index in the rank's program.
  struct Place {
    int rank = 0, index = 0;
  };
  // The longest path of the programs last evaluated, backwards from the instruction that ends last:
  // each begins when the next one in the list, or its message, has come. Valid until the next call.
  std::span<const Place> critical_path(const Programs& programs);

 private:
  struct Rank {
    double clock = 0;
    int64_t bytes = 0;
    int next = 0;        // index of the instruction that runs next
    int waits_for = -1;  // the event that the rank waits for; -1: none
    bool queued = false;
  };
  // The end of a Forward or of an input half, by op, stage and micro-batch.
  [[nodiscard]] int event(bool backward, int stage, int micro_batch) const {
    return ((backward ? work_.stages : 0) + stage) * work_.micro_batches + micro_batch;
  }
  bool advance(int rank, const Programs& programs);
  [[nodiscard]] int awaited(const Instruction& instruction) const;
  void finish(int rank, const Instruction& instruction);
  bool take_bytes(int rank, const Instruction& instruction);

  const StepWork& work_;
  std::vector<Rank> rank_;
  std::vector<double> there_;                     // by event: when its result is where it is needed
  std::vector<Place> place_;                      // by event: the instruction that causes it
  std::vector<double> link_free_;                 // by boundary, forwards and then backwards
  std::vector<std::vector<uint8_t>> by_message_;  // [rank][index]: a message decides its beginning
  std::vector<int> queue_;
  std::vector<Place> path_;
};

}  // namespace penstock
