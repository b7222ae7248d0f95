// launch/program/start/rank_ranges.h -- names many ranks in few words, for messages.
#pragma once

#include <span>
#include <string>

namespace penstock {

// "rank 3", "ranks 0, 2-5 and 9". `ranks`: ascending, not empty. Where there are more than five
// ranges the rest is counted: "and 12 others".
[[nodiscard]] std::string ranks_text(std::span<const int> ranks);

}  // namespace penstock
