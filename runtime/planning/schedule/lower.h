// runtime/planning/schedule/lower.h -- lower(): adds to compute instructions all else that a rank
// executes.
//
// A generator orders a rank's compute instructions; the others follow from those and are inserted
// here:
//   RecvActivation   right before the Forward that needs it
//   SendActivation   right after the Forward
//   Recompute        before the RecvGradient of its backward, so that it hides in the wait
//   RecvGradient     right before the Backward or BackwardInput that needs it
//   SendGradient     right after that Backward or BackwardInput
//   ReduceGradients  of a stage, right before its last weight gradient
//   OptimizerStep    last
// Stages of one rank hand over directly, without messages. A stage with skips sends several
// messages in one place, to the nearest stage first, and receives several, from the farthest stage
// first, whose message has been under way longest. Messages of one directed edge arrive in the
// order they were sent. verify() proves the result.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct Lowering {
  bool recompute = false;  // insert a Recompute for every backward of every stage
  // Inserts no Recompute, even so, in a stage whose backwards all directly follow their forwards,
  // as on the last rank of 1F1B, since it would save no memory.
  bool keep_adjacent = false;
  bool reduce = false;  // insert ReduceGradients: wanted when there are replicas
  bool update = false;  // insert OptimizerStep: wanted in training
};

// Throws std::invalid_argument if the schedule holds anything but well-formed compute instructions.
[[nodiscard]] Schedule lower(const Schedule& schedule, const Lowering& options);

}  // namespace penstock
