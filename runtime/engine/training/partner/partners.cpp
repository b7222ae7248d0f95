#include "runtime/engine/training/partner/partners.h"

#include <algorithm>

namespace penstock {

std::vector<int> choose_partners(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  std::vector<std::vector<int>> ranks_of;  // the ranks of each host
  std::vector<size_t> host_of(hosts.size()), place_of(hosts.size());
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto found = std::find(names.begin(), names.end(), hosts[rank]);
    const auto host = static_cast<size_t>(found - names.begin());
    if (found == names.end()) {
      names.push_back(hosts[rank]);
      ranks_of.emplace_back();
    }
    host_of[rank] = host;
    place_of[rank] = ranks_of[host].size();
    ranks_of[host].push_back(static_cast<int>(rank));
  }
  std::vector<int> partners(hosts.size(), -1);
  if (names.size() == 1) return partners;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const std::vector<int>& next = ranks_of[(host_of[rank] + 1) % names.size()];
    partners[rank] = next[place_of[rank] % next.size()];
  }
  return partners;
}

}  // namespace penstock
