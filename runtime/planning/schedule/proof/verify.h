// runtime/planning/schedule/proof/verify.h -- verify(): proves that the programs of all ranks
// together make one correct training step, or one correct evaluation.
//
// It takes a schedule with messages (the result of lower(), lower.h) and throws if anything is
// wrong. It runs before the first step of every run, in time proportional to the number of
// instructions, and proves:
//   * every micro-batch has one Forward in every stage and one backward: a Backward, or a
//     BackwardInput and later a BackwardWeight; a stage has a Recompute between the two for every
//     micro-batch, or for none
//   * on every rank each instruction comes after those it needs
//   * forwards, input gradients and weight gradients of a stage run in ascending micro-batch order,
//     so that sums have one order in every schedule
//   * every message, to the next stage or over a skip connection, has a send and a receive; it is
//     sent after its tensors are computed, and received before they are used; messages from one
//     stage to another are received in the order in which they are sent
//   * there is no deadlock under the rules of the links that will carry the messages (replay.h):
//     receives wait for their messages, and sends do not wait or wait for room in a window, whose
//     smallest size message_window() (window.h) finds
//   * ReduceGradients, if any, stands once for every stage, after its last weight gradient but one
//     and before its last; OptimizerStep, if any, once on every rank, as the last instruction
//
// A schedule without any backward is an evaluation: it may have forwards and their messages only.
#pragma once

#include <vector>

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// What verify() finds on its way.
struct Proof {
  // One per rank: the most stashes (saved activations of one micro-batch in one stage) held at
  // once: one more after a Forward, one less after a Backward or BackwardInput. 0 in an evaluation,
  // which keeps none.
  std::vector<int> peak_stash;
  // One per rank: the most micro-batches at once that have had their BackwardInput and still need
  // their BackwardWeight. This peak need not come at the same moment as that of peak_stash.
  std::vector<int> peak_weight_halves;
};

// Throws std::invalid_argument for the first defect. The message names the rank, the instruction,
// and what is missing, doubled or out of order; for a deadlock it says which rank waits for which.
Proof verify(const Schedule& lowered, const TransportRules& rules = {});

}  // namespace penstock
