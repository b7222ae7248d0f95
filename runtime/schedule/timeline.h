// runtime/schedule/timeline.h -- when every instruction of a step ran, or would run.
//
// The executor records it, simulate() predicts it: one format, so that the two can be drawn over
// one another.
//
// Two bubbles, never to be mixed up (work: the time a rank computes):
//   makespan bubble  the makespan less the work of a rank, averaged over the ranks: what
//                    synchronous SGD waits for
//   span bubble      one rank's last end less its first start, less its work; the largest over the
//                    ranks, as the zero-bubble papers report it
#pragma once

#include <vector>

#include "runtime/schedule/schedule.h"

namespace penstock {

// Times in one unit, seconds in a real run. A receive lasts from when the rank asks to when the
// message is there; OptimizerStep includes the wait for the last gradient of all ranks.
struct TimedInstruction {
  Instruction instruction;
  double start = 0, end = 0;
};

struct Timeline {
  std::vector<std::vector<TimedInstruction>> rank;  // rank[r], in the order of its program
};

// From the first start to the last end of what takes time, over all ranks.
[[nodiscard]] double makespan(const Timeline& timeline);
[[nodiscard]] double makespan_bubble(const Timeline& timeline);
[[nodiscard]] double span_bubble(const Timeline& timeline);

}  // namespace penstock
