// launch/program/start/rank_ranges.cpp -- see rank_ranges.h.
#include "launch/program/start/rank_ranges.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/amount.h"

namespace penstock {

std::string ranks_text(std::span<const int> ranks) {
  constexpr size_t kMostParts = 5;
  std::vector<std::string> parts;
  size_t named = 0;
  for (size_t i = 0; i < ranks.size() && parts.size() < kMostParts;) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    // Two neighbouring ranks are listed one by one, not as a range.
    if (last == i + 1) last = i;
    parts.push_back(last == i ? fmt::format("{}", ranks[i])
                              : fmt::format("{}-{}", ranks[i], ranks[last]));
    i = named = last + 1;
  }
  if (named < ranks.size())
    parts.push_back(amount_text(static_cast<int64_t>(ranks.size() - named), "other"));
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace penstock
