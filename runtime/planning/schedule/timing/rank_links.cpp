#include "runtime/planning/schedule/timing/rank_links.h"

#include <algorithm>

namespace penstock {

LinkTimes RankLinks::link(int rank, int other, const LinkTimes& usual) const {
  if (empty()) return usual;
  const auto pair = std::minmax(group_of_rank.at(rank), group_of_rank.at(other));
  const auto own = between.find(pair);
  if (own == between.end()) return usual;
  LinkTimes link = usual;
  link.latency = own->second.latency.value_or(link.latency);
  link.seconds_per_byte = own->second.seconds_per_byte.value_or(link.seconds_per_byte);
  return link;
}

LinkTimes RankLinks::slowest(std::span<const int> ranks, const LinkTimes& usual) const {
  if (empty() || ranks.size() < 2) return usual;
  std::map<int, std::vector<int>> some;  // by group: one or two of its ranks
  for (const int rank : ranks) {
    std::vector<int>& group = some[group_of_rank.at(rank)];
    if (group.size() < 2) group.push_back(rank);
  }
  std::optional<LinkTimes> slowest;
  const auto count = [&](int rank, int other) {
    const LinkTimes times = link(rank, other, usual);
    if (!slowest) slowest = times;
    slow_to(*slowest, times);
  };
  for (auto one = some.begin(); one != some.end(); ++one) {
    if (one->second.size() > 1) count(one->second[0], one->second[1]);
    for (auto other = std::next(one); other != some.end(); ++other) {
      count(one->second[0], other->second[0]);
    }
  }
  return *slowest;
}

void slow_to(LinkTimes& link, const LinkTimes& other) {
  link.latency = std::max(link.latency, other.latency);
  link.seconds_per_byte = std::max(link.seconds_per_byte, other.seconds_per_byte);
  link.overhead = std::max(link.overhead, other.overhead);
  link.receiver_copies = link.receiver_copies || other.receiver_copies;
}

}  // namespace penstock
