// launch/program/start/binding.cpp -- see binding.h.
#include "launch/program/start/binding.h"

#include <algorithm>
#include <map>

namespace penstock {
namespace {

// These are the numbers of the ranks of one host, in ascending order.
using Neighbours = std::vector<size_t>;

bool have_one_in_common(const RankCores& a, const RankCores& b) {
  return std::ranges::any_of(
      a.cores, [&](int core) { return std::ranges::find(b.cores, core) != b.cores.end(); });
}

std::vector<int> part_of(size_t rank, const Neighbours& neighbours, bool split,
                         std::span<const RankCores> ranks) {
  const RankCores& mine = ranks[rank];
  size_t sharing = 0;
  size_t before = 0;  // sharing ranks whose number is lower
  bool is_equal = true;
  for (const size_t other : neighbours) {
    if (!have_one_in_common(mine, ranks[other])) continue;
    ++sharing;
    if (other < rank) ++before;
    is_equal = is_equal && ranks[other].cores == mine.cores;
  }
  if (sharing == 1) return mine.cores;
  const size_t each = sharing == 0 ? 0 : mine.cores.size() / sharing;
  if (!split || !is_equal || each == 0) return {};
  const auto first = mine.cores.begin() + static_cast<std::ptrdiff_t>(before * each);
  return {first, first + static_cast<std::ptrdiff_t>(each)};
}

}  // namespace

std::vector<std::vector<int>> cores_to_bind(const std::string& how,
                                            std::span<const RankCores> ranks) {
  std::vector<std::vector<int>> bound(ranks.size());
  if (how == "none") return bound;
  std::map<std::string, Neighbours> hosts;
  for (size_t rank = 0; rank < ranks.size(); ++rank) hosts[ranks[rank].host].push_back(rank);
  for (const auto& [host, neighbours] : hosts) {
    for (const size_t rank : neighbours) {
      bound[rank] = part_of(rank, neighbours, how == "split", ranks);
    }
  }
  return bound;
}

}  // namespace penstock
