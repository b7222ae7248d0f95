// runtime/planning/schedule/proof/leading_forwards.h -- leading_forwards(): the forwards with which
// each rank begins a step. With optimizer.barrier = false they run on weights whose update may be
// taken back; then they are run again.
//
// Up to its first instruction that is neither a forward nor a message of one, a rank has changed
// nothing but its stashes, so all ranks can stop there and start again. Messages of the first try
// that were not received must be received and thrown away. A message that is sent after its sender
// has stopped belongs to the second try; so a rank stops before it would receive such a message,
// and this is repeated until no rank has to stop any earlier.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct LeadingForwards {
  std::vector<size_t> end;  // by rank: index one past its last leading instruction
  // The number of activations, by edge (edges.h), that are sent in the leading forwards and not
  // received in them.
  std::vector<int> surplus;
};

// The leading forwards of a lowered and verified schedule. Pure; O(instructions x ranks) at worst.
[[nodiscard]] LeadingForwards leading_forwards(const Schedule& schedule);

}  // namespace penstock
