#include "runtime/engine/measurements/slow_ranks.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace penstock {

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

SlowRanks::SlowRanks(const Grid& grid, std::vector<double> predicted_s)
    : grid_(grid),
      predicted_s_(std::move(predicted_s)),
      ratios_(static_cast<size_t>(grid.ranks())),
      windows_(ratios_.size()) {}

std::vector<SlowRanks::Slow> SlowRanks::see(std::span<const double> busy_s) {
  for (int rank = 0; rank < grid_.ranks(); ++rank) {
    const auto r = static_cast<size_t>(rank);
    const double predicted = predicted_s_[static_cast<size_t>(grid_.position_of(rank))];
    ratios_[r] = predicted > 0.0 ? busy_s[r] / predicted : 0.0;
  }
  std::vector<Slow> named;
  for (int rank = 0; rank < grid_.ranks(); ++rank) {
    const auto r = static_cast<size_t>(rank);
    if (!is_slow(busy_s, rank)) {
      windows_[r] = std::min(windows_[r], 0);
    } else if (windows_[r] >= 0 && ++windows_[r] == kWindows) {
      std::vector<double> others = ratios_;
      others.erase(others.begin() + rank);
      named.push_back({rank, ratios_[r], median(std::move(others))});
      windows_[r] = -1;  // and never again
    }
  }
  return named;
}

bool SlowRanks::is_slow(std::span<const double> busy_s, int rank) const {
  std::vector<double> others;
  std::vector<double> same_stages;
  for (int other = 0; other < grid_.ranks(); ++other) {
    if (other == rank) continue;
    others.push_back(ratios_[static_cast<size_t>(other)]);
    if (grid_.position_of(other) != grid_.position_of(rank)) continue;
    same_stages.push_back(busy_s[static_cast<size_t>(other)]);
  }
  const auto r = static_cast<size_t>(rank);
  return !others.empty() && ratios_[r] >= kFactor &&
         ratios_[r] >= kFactor * median(std::move(others)) &&
         busy_s[r] >= kFactor * median(std::move(same_stages));
}

std::string describe(const SlowRanks::Slow& slow, const std::string& host) {
  std::array<char, 64> times{};
  (void)std::snprintf(times.data(), times.size(), "%.1f times as long as predicted",
                      slow.of_forecast);
  std::array<char, 64> others{};
  (void)std::snprintf(others.data(), others.size(), "the other ranks %.1f times", slow.others);
  return "rank " + std::to_string(slow.rank) + " (host " + host + ") has computed " + times.data() +
         " for " + std::to_string(SlowRanks::kWindow * SlowRanks::kWindows) + " steps, " +
         others.data() + ": is its processor slower, shared or throttled?";
}

}  // namespace penstock
