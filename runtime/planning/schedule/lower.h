// runtime/planning/schedule/lower.h -- from compute instructions to everything a rank executes.
//
// A generator says when a rank computes; the rest follows and is inserted here:
//   RecvActivation   right before the Forward that needs it
//   SendActivation   right after the Forward
//   Recompute        before the RecvGradient of its backward, so that it hides in the wait
//   RecvGradient     right before the Backward or BackwardInput that needs it
//   SendGradient     right after it
//   ReduceGradients  of a stage, right before its last weight gradient
//   OptimizerStep    last
// Stages of one rank hand over directly, without messages. A stage with skips has several messages
// in one place: it sends to the nearest stage first and receives from the farthest first, whose
// message has been under way longest. Messages of one directed edge arrive in the order they were
// sent. Knows no schedule by name; verify() proves the result.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct Lowering {
  bool recompute = false;  // one Recompute for every backward of every stage
  // No Recompute in a stage whose backwards all follow their forwards at once, as on the last rank
  // of 1F1B: the results of the forward are needed right away, and making them again would save no
  // memory.
  bool keep_adjacent = false;
  bool reduce = false;  // wanted when the pipeline is replicated
  bool update = false;  // wanted in training; verify() refuses it where nothing is differentiated
};

// Throws std::invalid_argument if the schedule holds anything but well-formed compute instructions.
[[nodiscard]] Schedule lower(const Schedule& schedule, const Lowering& options);

}  // namespace penstock
