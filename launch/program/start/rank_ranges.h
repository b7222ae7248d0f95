// launch/program/start/rank_ranges.h -- many ranks in few words.
#pragma once

#include <span>
#include <string>

namespace penstock {

// "rank 3", "ranks 0, 2-5 and 9"; `ranks` ascending, at least one. Of more than five parts the rest
// is "and 12 others".
[[nodiscard]] std::string ranks_text(std::span<const int> ranks);

}  // namespace penstock
