// runtime/schedule/simulate.h -- when every instruction would run, from the times of the ops.
//
// Every rank runs its program in order and each instruction as early as its inputs allow; sends are
// posted and never wait, so messages travel while the rank computes. Knows no bandwidth: a message
// arrives `latency` after it was sent, however many are on the way.
//
// Two bubbles, never to be mixed up (work: the time a rank computes):
//   makespan bubble  the makespan less the work of a rank, averaged over the ranks: what
//   synchronous
//                    SGD waits for
//   span bubble      one rank's last end less its first start, less its work; the largest over the
//                    ranks, as the zero-bubble papers report it
#pragma once

#include <vector>

#include "runtime/schedule/schedule.h"

namespace penstock {

// Times of one stage on one micro-batch, in any one unit. ReduceGradients, OptimizerStep and the
// posting of messages take none.
struct StageTimes {
  double forward = 1;
  double recompute = 1;
  double backward_input = 1;
  double backward_weight = 1;
  double backward = 2;  // both halves at once
};

struct PipelineCosts {
  std::vector<StageTimes> stage;  // one per stage
  double latency = 0;             // from the end of a stage to its neighbour on another rank
};

struct TimeSpan {
  double start;
  double end;
};

struct Timeline {
  std::vector<std::vector<TimeSpan>> rank;  // rank[r][i] is instruction i of program[r]
};

// Accepts schedules before and after lower(); a compute-only one receives at no cost just in time.
// Throws std::invalid_argument if it is malformed or gets stuck, naming where, or if costs has not
// one entry per stage or holds a time that is negative or not finite.
[[nodiscard]] Timeline simulate(const Schedule& schedule, const PipelineCosts& costs);

// From the first start to the last end, over all ranks.
[[nodiscard]] double makespan(const Timeline& timeline);
[[nodiscard]] double makespan_bubble(const Timeline& timeline);
[[nodiscard]] double span_bubble(const Timeline& timeline);

}  // namespace penstock
