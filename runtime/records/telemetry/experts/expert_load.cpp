#include "runtime/records/telemetry/experts/expert_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace penstock {
namespace {

// Returns the rows of an expert as a multiple of the mean of all experts.
double share(const ExpertLoad& load, int64_t rows) {
  const auto all = std::accumulate(load.rows.begin(), load.rows.end(), int64_t{0});
  if (all == 0) return 0.0;
  return static_cast<double>(rows) * static_cast<double>(load.rows.size()) /
         static_cast<double>(all);
}

}  // namespace

double ExpertLoad::largest() const {
  return rows.empty() ? 0.0 : share(*this, std::ranges::max(rows));
}

double ExpertLoad::least() const {
  return rows.empty() ? 0.0 : share(*this, std::ranges::min(rows));
}

int64_t ExpertLoad::idle() const {
  return std::ranges::count(rows, 0);
}

double ExpertHistory::largest_mean() const {
  return steps > 0 ? largest_sum / static_cast<double>(steps) : 0.0;
}

void add_loads(std::vector<ExpertHistory>& histories, int64_t step,
               std::span<const ExpertLoad> loads) {
  histories.resize(loads.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    ExpertHistory& history = histories[i];
    history.last = loads[i];
    const double largest = loads[i].largest();
    ++history.steps;
    history.largest_sum += largest;
    if (largest <= history.largest_of_all) continue;
    history.largest_of_all = largest;
    history.at_step = step;
  }
}

const ExpertLoad* fullest(std::span<const ExpertLoad> loads) {
  const auto found = std::ranges::max_element(loads, {}, &ExpertLoad::largest);
  return found == loads.end() ? nullptr : &*found;
}

int64_t idle_experts(std::span<const ExpertLoad> loads) {
  return std::accumulate(loads.begin(), loads.end(), int64_t{0},
                         [](int64_t sum, const ExpertLoad& load) { return sum + load.idle(); });
}

int64_t all_experts(std::span<const ExpertLoad> loads) {
  return std::accumulate(
      loads.begin(), loads.end(), int64_t{0},
      [](int64_t sum, const ExpertLoad& load) { return sum + std::ssize(load.rows); });
}

std::string text_of(std::span<const ExpertHistory> histories) {
  if (histories.empty()) return {};
  std::vector<ExpertLoad> last;
  for (const ExpertHistory& history : histories) last.push_back(history.last);
  const ExpertLoad& now = *fullest(last);
  const ExpertHistory& worst =
      *std::ranges::max_element(histories, {}, &ExpertHistory::largest_of_all);
  return fmt::format(
      "fullest {:.2f} x the mean in the last step ({}), {:.2f} x in step {} ({}); without a token "
      "in the last step: {} of {}",
      now.largest(), now.layer, worst.largest_of_all, worst.at_step, worst.last.layer,
      idle_experts(last), all_experts(last));
}

}  // namespace penstock
