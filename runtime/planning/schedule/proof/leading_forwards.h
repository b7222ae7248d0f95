// runtime/planning/schedule/proof/leading_forwards.h -- the forwards that a step begins with: what
// may run on weights that may have to be taken back (optimizer.barrier = false), and be run again.
//
// Up to its first instruction that is neither a forward nor a message of one, a rank has changed
// nothing but what it stashes. All ranks then start again from the beginning. What had been sent
// before that must be received and thrown away, so no rank may have received, by where it stops,
// what its sender sends after it has stopped: such a message would belong to the second try.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct LeadingForwards {
  std::vector<size_t> end;  // by rank, one past the last of them in its program
  // By edge (edges.h): of the activations sent in them, those that are not received in them.
  std::vector<int> surplus;
};

// Of a lowered and verified schedule. Pure; O(instructions x ranks) at worst.
[[nodiscard]] LeadingForwards leading_forwards(const Schedule& schedule);

}  // namespace penstock
