// The numbers of edges: neighbours first, then skips.
#include "runtime/planning/schedule/edges.h"

#include <algorithm>

namespace penstock {

Edges::Edges(const Schedule& schedule) : neighbours_(schedule.stages - 1), skips_(schedule.skips) {
  for (const Skip& skip : skips_) {
    edge_of_skip_.emplace(std::pair(skip.from, skip.to),
                          neighbours_ + static_cast<int>(edge_of_skip_.size()));
  }
}

int Edges::between(int a, int b) const {
  const auto [from, to] = std::minmax(a, b);
  if (to == from + 1) return from;
  const auto found = edge_of_skip_.find({from, to});
  return found == edge_of_skip_.end() ? -1 : found->second;
}

}  // namespace penstock
