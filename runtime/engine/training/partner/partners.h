// runtime/engine/training/partner/partners.h -- which rank, on another host, is the partner of a
// rank: the one that holds a second copy of its state in memory. Pure.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// The partner of each rank, by rank; `hosts` names the host of each. The partner is the rank with
// the same place on the next host; hosts are in the order of their first ranks, and the first one
// follows the last. So a host holds copies of one other host only, and a rank's state outlives the
// loss of any one host. All are -1 where there is one host.
[[nodiscard]] std::vector<int> choose_partners(const std::vector<std::string>& hosts);

}  // namespace penstock
