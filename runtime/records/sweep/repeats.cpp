#include "runtime/records/sweep/repeats.h"

#include <algorithm>
#include <array>
#include <optional>

namespace penstock {
namespace {

bool is_finished(const Outcome& run) {
  return run.state == PointState::Finished;
}

// The first run with the state that is most worth telling.
const Outcome& speaker_of(const std::vector<Outcome>& runs) {
  constexpr std::array kOrder = {PointState::Running, PointState::Failed, PointState::Interrupted,
                                 PointState::Submitted, PointState::Waiting};
  for (const PointState state : kOrder) {
    for (const Outcome& run : runs) {
      if (run.state == state) return run;
    }
  }
  return runs[0];
}

// The value of each run that knows it.
template <class ValueOf>
std::vector<double> values_of(const std::vector<Outcome>& runs, const ValueOf& value_of) {
  std::vector<double> values;
  for (const Outcome& run : runs) {
    if (const std::optional<double> value = value_of(run)) values.push_back(*value);
  }
  return values;
}

std::optional<double> known_mean(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(mean_of(values));
}

}  // namespace

Outcome combined(const std::vector<Outcome>& runs) {
  if (runs.size() == 1) return runs[0];
  Outcome all = speaker_of(runs);
  std::vector<Outcome> counted = runs;
  if (finished_of(runs) > 0)
    std::erase_if(counted, [](const auto& run) { return !is_finished(run); });

  const std::vector<double> medians = values_of(counted, [](const Outcome& run) {
    return run.step_ms ? std::optional(run.step_ms->median) : std::nullopt;
  });
  all.step_ms.reset();
  if (!medians.empty()) {
    all.step_ms = times_of(medians);
    all.step_ms->count = 0;
    for (const Outcome& run : counted) all.step_ms->count += run.step_ms ? run.step_ms->count : 0;
  }
  all.tokens = known_mean(values_of(counted, [](const auto& run) { return run.tokens; }));
  const std::vector<double> losses = values_of(counted, [](const auto& run) { return run.loss; });
  all.loss = known_mean(losses);
  if (losses.size() > 1) all.loss_deviation = deviation_of(losses);
  all.bubble = known_mean(values_of(counted, [](const auto& run) { return run.bubble; }));
  for (const Outcome& run : counted) all.peak_bytes = std::max(all.peak_bytes, run.peak_bytes);
  return all;
}

size_t finished_of(const std::vector<Outcome>& runs) {
  return static_cast<size_t>(std::count_if(runs.begin(), runs.end(), is_finished));
}

}  // namespace penstock
