// runtime/engine/training/partner/partners.h -- whose memory holds a second copy of what a rank
// keeps. Pure.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// By rank, from the host of each: the rank of the same place on the next host, hosts in the order
// of their first ranks and the first one after the last. So what a host holds for others is of one
// other host, and every rank's copies outlive the loss of any one host. -1, for all: there is one
// host.
[[nodiscard]] std::vector<int> choose_partners(const std::vector<std::string>& hosts);

}  // namespace penstock
