// runtime/planning/schedule/proof/leading_forwards.h -- leading_forwards(): how many instructions
// at the beginning of each rank's program can be run a second time as if the first time had not
// been.
//
// A rank with optimizer.barrier = false begins the next step before it knows whether the last
// update was valid. If that update is taken back (docs/late_updates.md), the forwards that have run
// on its weights must be run again. That is simple as long as a rank has only run forwards and
// their messages, since those change nothing but its stashes (saved activations). So each rank's
// leading instructions are its forwards and activation messages before the first instruction of
// another kind: up to there it can stop and begin the step again.
//
// Activations that were sent in the first try and not yet received must then be received and thrown
// away; `surplus` counts them. An activation that its sender sends only after its own leading
// instructions belongs to the second try. So a receiver's leading instructions end before it would
// receive such a message; leading_forwards() repeats this cut until no rank's end changes any more.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct LeadingForwards {
  std::vector<size_t> end;  // by rank: index one past its last leading instruction
  // One per edge (edges.h): the number of activations that the earlier stage sends in its leading
  // instructions and the later stage does not receive in its own.
  std::vector<int> surplus;
};

// `schedule` must be lowered and verified (lower.h, verify.h). Takes O(instructions x ranks) at
// worst.
[[nodiscard]] LeadingForwards leading_forwards(const Schedule& schedule);

}  // namespace penstock
