// runtime/planning/schedule/proof/verify.h -- verify(): proves that a lowered schedule is one
// correct training step, or an evaluation.
//
// It runs before the first step of every run, in time proportional to the instructions, and proves:
//   * every (stage, micro-batch) is forwarded once, and differentiated once: Backward, or
//     BackwardInput and later BackwardWeight; recomputed once in between, or nowhere in that stage
//   * on every rank each instruction comes after those it needs
//   * forwards, input gradients and weight gradients of a stage run in ascending micro-batch order,
//     so that sums have one order in every schedule
//   * every message, between neighbours and over skips, has both ends, leaves after what it carries
//     was made and arrives before that is needed; both ends of a directed edge agree on the order
//   * no deadlock under the rules of the transport that will run it (replay.h): receives wait, and
//     sends never or for room in a window; message_window() (window.h) gives the smallest one
//   * ReduceGradients, if any, once for every stage, between its last weight gradient and the one
//     before; OptimizerStep, if any, once on every rank and last
// A schedule without any backward is an evaluation: forwards and their messages, nothing else.
#pragma once

#include <vector>

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct Proof {
  // The most stashes alive at once, per rank: one more after a Forward, one less after Backward or
  // BackwardInput. One stash is one micro-batch of one stage. 0 in an evaluation, which keeps none.
  std::vector<int> peak_stash;
  // The most weight halves (left by BackwardInput for BackwardWeight) at once, per rank. Both peaks
  // need not come together.
  std::vector<int> peak_weight_halves;
};

// Throws std::invalid_argument naming the first defect: rank, instruction, and what is missing,
// doubled or out of order; for a deadlock, who waits for whom.
Proof verify(const Schedule& lowered, const TransportRules& rules = {});

}  // namespace penstock
