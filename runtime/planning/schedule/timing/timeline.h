// runtime/planning/schedule/timing/timeline.h -- Timeline: the start and end of every instruction
// of a training step; and functions that compute the bubble (the waiting) from it.
//
// simulate() (simulate.h) predicts a timeline; the executor records one while it trains. Both have
// this format, so they can be drawn over one another.
//
// There are two measures of the bubble in time. Both look only at compute instructions (forwards,
// recomputes, backwards); the work of a rank is the time that it spends in them. Sums over replicas
// and the update at the end of a step do not count as bubble.
//   makespan bubble  the time from the first compute instruction of any rank to the end of the last
//                    one of any rank, minus the work of a rank, averaged over the ranks
//   span bubble      the same for one rank alone: from its own first start to its own last end,
//                    minus its work; the largest over the ranks, as the zero-bubble papers report
//                    it
#pragma once

#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// When one instruction ran, in one unit: seconds in a real run. A receive lasts from the moment at
// which the rank asks for the message to the moment at which it is there; an OptimizerStep includes
// the wait for the last gradient. The instructions of a rank follow one another, except
// ReduceGradients, which covers the sums that run beside the others; sums end before the
// OptimizerStep does. A recorded timeline has one end for all sums of a rank: that of the last.
struct TimedInstruction {
  Instruction instruction;
  double start = 0, end = 0;
};

// Whether an instruction takes any time. A difference between start and end that rounding may have
// made does not count.
[[nodiscard]] inline bool takes_time(const TimedInstruction& span) {
  constexpr double kRounding = 1e-12;
  return span.end - span.start > kRounding * span.end;
}

struct Timeline {
  std::vector<std::vector<TimedInstruction>> rank;  // rank[r], in the order of its program
};

// The length of the whole step: from the first start to the last end of all instructions that take
// time, over all ranks.
[[nodiscard]] double makespan(const Timeline& timeline);
// The two bubbles described above, in the timeline's unit.
[[nodiscard]] double makespan_bubble(const Timeline& timeline);
[[nodiscard]] double span_bubble(const Timeline& timeline);

// How busy a rank was in a step: `busy` is the time in compute instructions, `span` the time from
// the start of its first instruction, which may be a wait, to the end of its last compute
// instruction. The two numbers of several steps may be added up.
struct Occupancy {
  double busy = 0, span = 0;
};
// The occupancy of one rank in one step. `instructions` are all its instructions; their clock may
// start anywhere.
[[nodiscard]] Occupancy occupancy(std::span<const TimedInstruction> instructions);

// The bubble as a share from 0 to 1, which predictions and recorded steps report: of the time from
// the beginning of the step to the end of the last compute instruction of any rank, the part in
// which ranks do not compute, averaged over the ranks. It is for ranks that begin a step together,
// as they do after an update that waits for all. 0 when nothing takes time.
[[nodiscard]] double bubble_share(std::span<const Occupancy> ranks);
// The same for a run of steps that ranks begin at different times (SteadyStep, simulate.h): the
// share of `length`, the time from one step to the next, in which ranks do not compute; here the
// update counts as not computing.
[[nodiscard]] double steady_bubble(const Timeline& timeline, double length);
// The bubble share of a whole timeline, whose ranks' times are by one common clock.
[[nodiscard]] double bubble_share(const Timeline& timeline);

}  // namespace penstock
