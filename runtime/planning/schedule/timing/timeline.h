// runtime/planning/schedule/timing/timeline.h -- the times at which every instruction of a step
// ran, or would run.
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

#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Times in one unit, seconds in a real run. A receive lasts from when the rank asks to when the
// message is there; OptimizerStep includes the wait for the last gradient of all ranks. Spans of a
// rank follow one another, but for ReduceGradients: sums run beside the rest, and end in the
// OptimizerStep at the latest. The executor knows of all sums of a rank together when they end.
struct TimedInstruction {
  Instruction instruction;
  double start = 0, end = 0;
};

// Whether an instruction takes time at all: two sums of the same durations, of which one is this
// span's end, may differ in their last digits.
[[nodiscard]] inline bool takes_time(const TimedInstruction& span) {
  constexpr double kRounding = 1e-12;
  return span.end - span.start > kRounding * span.end;
}

struct Timeline {
  std::vector<std::vector<TimedInstruction>> rank;  // rank[r], in the order of its program
};

// The whole step: from the first start to the last end of what takes time, over all ranks.
[[nodiscard]] double makespan(const Timeline& timeline);
[[nodiscard]] double makespan_bubble(const Timeline& timeline);
[[nodiscard]] double span_bubble(const Timeline& timeline);

// A rank's time in the pipeline phase of a step: `busy` in compute instructions, `span` from its
// first instruction, waiting included, to the end of its last compute instruction. Those of several
// steps add up.
struct Occupancy {
  double busy = 0, span = 0;
};
// `instructions`: all of one rank's in one step, by any clock of its own.
[[nodiscard]] Occupancy occupancy(std::span<const TimedInstruction> instructions);

// The bubble as a share, 0 to 1: of the time of all ranks from the beginning of the step to the end
// of the last compute instruction of all of them, the part that is not spent computing. The one
// bubble of predictions and of recorded steps, for ranks whose steps begin together, as they do
// after an update that waits for all; 0 when nothing takes time.
[[nodiscard]] double bubble_share(std::span<const Occupancy> ranks);
// The share of the time that ranks do not compute, the update included, in a step in a row of steps
// that take so long each, whose ranks begin at different times.
[[nodiscard]] double steady_bubble(const Timeline& timeline, double length);
// The bubble share of a timeline with one clock: makespan_bubble() over the same length.
[[nodiscard]] double bubble_share(const Timeline& timeline);

}  // namespace penstock
