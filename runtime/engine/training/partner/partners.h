// runtime/engine/training/partner/partners.h -- whose memory holds a second copy of what a rank
// keeps. Pure.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// The partner of each rank, by rank, from the host of each: the rank of the same place on the next
// host, hosts in the order of their first ranks and the first one after the last. So a host holds
// copies of one other host only, and every rank's copies outlive the loss of any one host. All are
// -1 where there is one host.
[[nodiscard]] std::vector<int> choose_partners(const std::vector<std::string>& hosts);

}  // namespace penstock
