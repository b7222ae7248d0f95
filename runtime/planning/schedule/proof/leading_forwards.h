// runtime/planning/schedule/proof/leading_forwards.h -- the forwards that a step begins with. They
// may run on weights whose update may have to be taken back (optimizer.barrier = false), and are
// then run again.
//
// Up to its first instruction that is neither a forward nor a message of one, a rank has changed
// nothing but what it stashes. All ranks then start again from the beginning. Messages that were
// sent before must be received and thrown away, so a rank must not have received, where it stops,
// any message that its sender sends after it has stopped: such a message would belong to the second
// try.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct LeadingForwards {
  std::vector<size_t> end;  // by rank, one past the last of them in its program
  // The number of activations, by edge (edges.h), that are sent in the leading forwards and not
  // received in them.
  std::vector<int> surplus;
};

// The leading forwards of a lowered and verified schedule. Pure; O(instructions x ranks) at worst.
[[nodiscard]] LeadingForwards leading_forwards(const Schedule& schedule);

}  // namespace penstock
