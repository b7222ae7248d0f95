// runtime/engine/training/partner/partners.h -- chooses for each rank its partner, a rank on
// another host that holds a second copy of its training state in memory (partner_copies.h). Pure.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// The partner of each rank, by rank; `hosts`: by rank, the name of its host. The partner has the
// same place among the ranks of the next host; hosts are in the order of their first ranks, and the
// first one follows the last. So a host holds copies of one other host only, and the loss of any
// one host costs no rank both of its copies. All are -1 where there is only one host. Example: two
// hosts of two ranks each give {2, 3, 0, 1}.
[[nodiscard]] std::vector<int> choose_partners(const std::vector<std::string>& hosts);

}  // namespace penstock
