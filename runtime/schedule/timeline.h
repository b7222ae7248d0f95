// runtime/schedule/timeline.h -- when every instruction of a step ran, or would run.
//
// The executor records it, simulate() predicts it: one format, so that the two can be drawn over
// one another.
//
// Two bubbles, never to be mixed up. Both look at compute instructions only (work: the time a rank
// spends in them); the sums over replicas and the update that end a step are no bubble.
//   makespan bubble  from the first compute instruction of all ranks to the last, less the work of
//                    a rank, averaged over the ranks: what synchronous SGD waits for
//   span bubble      one rank's last end less its first start, less its work; the largest over the
//                    ranks, as the zero-bubble papers report it
#pragma once

#include <vector>

#include "runtime/schedule/schedule.h"

namespace penstock {

// Times in one unit, seconds in a real run. A receive lasts from when the rank asks to when the
// message is there; OptimizerStep includes the wait for the last gradient of all ranks. Spans of a
// rank follow one another, but for ReduceGradients: sums run beside the rest, and the executor only
// records when they were started.
struct TimedInstruction {
  Instruction instruction;
  double start = 0, end = 0;
};

struct Timeline {
  std::vector<std::vector<TimedInstruction>> rank;  // rank[r], in the order of its program
};

// The whole step: from the first start to the last end of what takes time, over all ranks.
[[nodiscard]] double makespan(const Timeline& timeline);
[[nodiscard]] double makespan_bubble(const Timeline& timeline);
[[nodiscard]] double span_bubble(const Timeline& timeline);

}  // namespace penstock
