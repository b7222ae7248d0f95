// runtime/planning/schedule/timing/timeline.h -- Timeline: the times at which every instruction of
// a step ran, or would run; bubbles.
//
// The executor records a timeline, simulate() predicts one, in one format, so that both can be
// drawn over one another.
//
// Two bubbles, never to be mixed up. Both look at compute instructions only (work: the time a rank
// spends in them); the sums over replicas and the update that end a step are no bubble.
//   makespan bubble  from the first compute instruction of all ranks to the last, less the work of
//                    a rank, averaged over the ranks: what synchronous SGD waits for
//   span bubble      one rank's last end less its first start, less its work; the largest over the
//                    ranks, as the zero-bubble papers report it
#pragma once

#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Times in one unit, seconds in a real run. A receive lasts from when the rank asks to when the
// message is there; OptimizerStep includes the wait for the last gradient of all ranks. Spans of a
// rank follow one another, but for ReduceGradients: sums run beside the rest, and end in the
// OptimizerStep at the latest. In a recorded timeline all sums of a rank end at one time, when the
// last one does.
struct TimedInstruction {
  Instruction instruction;
  double start = 0, end = 0;
};

// Whether an instruction takes time at all; a difference of start and end by rounding alone does
// not count.
[[nodiscard]] inline bool takes_time(const TimedInstruction& span) {
  constexpr double kRounding = 1e-12;
  return span.end - span.start > kRounding * span.end;
}

struct Timeline {
  std::vector<std::vector<TimedInstruction>> rank;  // rank[r], in the order of its program
};

// The whole step: from the first start to the last end of what takes time, over all ranks.
[[nodiscard]] double makespan(const Timeline& timeline);
// The two bubbles described above, in the timeline's unit.
[[nodiscard]] double makespan_bubble(const Timeline& timeline);
[[nodiscard]] double span_bubble(const Timeline& timeline);

// A rank's time in the pipeline phase of a step: `busy` in compute instructions, `span` from its
// first instruction, waiting included, to the end of its last compute instruction. Occupancies of
// several steps may be added up.
struct Occupancy {
  double busy = 0, span = 0;
};
// The occupancy of one rank in one step: `instructions` are all of its instructions, by any clock.
[[nodiscard]] Occupancy occupancy(std::span<const TimedInstruction> instructions);

// The bubble as a share, 0 to 1: of the ranks' time from the beginning of the step to the end of
// the last compute instruction of any rank, the part not spent computing. Predictions and recorded
// steps both report this one, for ranks that begin a step together, as they do after an update that
// waits for all. 0 when nothing takes time.
[[nodiscard]] double bubble_share(std::span<const Occupancy> ranks);
// The share of the ranks' time without computation, the update included, in one of a row of steps
// of `length` each, which ranks begin at different times (SteadyStep).
[[nodiscard]] double steady_bubble(const Timeline& timeline, double length);
// The bubble share of a timeline whose ranks have one clock.
[[nodiscard]] double bubble_share(const Timeline& timeline);

}  // namespace penstock
