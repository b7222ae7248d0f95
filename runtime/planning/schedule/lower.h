// runtime/planning/schedule/lower.h -- lower(): completes a schedule that has only forwards and
// backwards with all else that a rank executes: messages, recomputes, sums over replicas and the
// update.
//
// A generator (generators.h) or a CSV file orders each rank's forwards and backwards. The other
// instructions follow from that order, and lower() inserts them:
//
//   RecvActivation   right before the Forward that needs it
//   SendActivation   right after the Forward
//   Recompute        before the RecvGradient of its backward: it runs while the gradient travels
//   RecvGradient     right before the Backward or BackwardInput that needs it
//   SendGradient     right after that Backward or BackwardInput
//   ReduceGradients  of a stage, right before its last Backward or BackwardWeight
//   OptimizerStep    last
//
// There is no message between two stages of one rank: they hand over tensors directly. A stage with
// skip connections (Schedule::skips) sends several messages in one place, the one to the nearest
// stage first, and receives several, the one from the farthest stage first, because that one has
// been under way longest. verify() (proof/verify.h) is the next step: it proves that the result can
// run.
#pragma once

#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// What to insert besides messages.
struct Lowering {
  bool recompute = false;  // a Recompute for every backward of every stage
  // Makes an exception from `recompute`: no Recompute in a stage each of whose backwards directly
  // follows the forward of the same micro-batch, as on the last rank of 1F1B, because it would save
  // no memory there.
  bool keep_adjacent = false;
  std::vector<int> kept_stages = {};  // further exceptions: stages without a Recompute
  bool reduce = false;                // ReduceGradients: wanted when there are several replicas
  bool update = false;                // OptimizerStep: wanted in training
};

// Returns the completed schedule. Throws std::invalid_argument if `schedule` has instructions other
// than compute instructions, or is not well-formed (well_formed.h).
[[nodiscard]] Schedule lower(const Schedule& schedule, const Lowering& options);

}  // namespace penstock
