// runtime/planning/schedule/timing/rank_links.h -- RankLinks: which ranks of a job have links
// between them that are unlike the usual ones within a node and between nodes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// What stands in place of the usual link's figures; null: these hold.
struct OwnLink {
  std::optional<double> latency = {}, seconds_per_byte = {};
};

// Ranks are world ranks. Those of one group have the same links to all others.
struct RankLinks {
  std::vector<int> group_of_rank = {};  // by rank; empty: all links are the usual ones
  // By a pair of groups, the smaller number first; (g, g) is among the ranks of group g.
  std::map<std::pair<int, int>, OwnLink> between = {};

  [[nodiscard]] bool empty() const { return between.empty(); }
  // The link between two ranks, where it would be `usual` without this.
  [[nodiscard]] LinkTimes link(int rank, int other, const LinkTimes& usual) const;
  // A link as slow as the slowest between any two of these ranks, where all would be `usual`.
  [[nodiscard]] LinkTimes slowest(std::span<const int> ranks, const LinkTimes& usual) const;
};

// Makes a link no faster than another one.
void slow_to(LinkTimes& link, const LinkTimes& other);

}  // namespace penstock
