#include "runtime/records/sweep/scaling.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/records/sweep/repeats.h"
#include "runtime/records/telemetry/quantile.h"

namespace penstock {
namespace {

bool is_measured(const ScalingRow& row) {
  return finished_of(row.runs) > 0 && row.samples_per_s;
}

bool is_better_base(const ScalingRow& row, const ScalingRow& than) {
  const int ranks = row.point.sizes.ranks();
  const int others = than.point.sizes.ranks();
  return ranks != others ? ranks < others : *row.samples_per_s > *than.samples_per_s;
}

// The base of each group, by the group's name.
std::map<std::string, const ScalingRow*> bases_of(const std::vector<ScalingRow>& rows) {
  std::map<std::string, const ScalingRow*> bases;
  for (const ScalingRow& row : rows) {
    if (!is_measured(row)) continue;
    const ScalingRow*& base = bases[row.point.group];
    if (base == nullptr || is_better_base(row, *base)) base = &row;
  }
  return bases;
}

void compare(const ScalingRow& base, ScalingRow& row) {
  const double ideal = static_cast<double>(row.point.sizes.ranks()) / base.point.sizes.ranks();
  row.speed_up = *row.samples_per_s / *base.samples_per_s;
  row.efficiency = *row.speed_up / ideal;
  row.base = base.point.name;
}

}  // namespace

std::vector<ScalingRow> scaling_rows(const std::vector<SweepPoint>& points,
                                     const std::vector<std::vector<Outcome>>& runs) {
  std::vector<ScalingRow> rows;
  for (size_t i = 0; i < points.size(); ++i) {
    ScalingRow& row = rows.emplace_back(
        ScalingRow{.point = points[i], .runs = runs[i], .outcome = combined(runs[i])});
    const auto samples = static_cast<double>(row.point.sizes.mini_batch());
    row.samples_per_s = rate_of(samples, row.outcome);
    row.tokens_per_s = rate_of(row.outcome.tokens, row.outcome);
    if (row.point.planned) row.planned_samples_per_s = samples / row.point.planned->step_s;
  }
  const auto bases = bases_of(rows);
  for (ScalingRow& row : rows) {
    if (!is_measured(row)) continue;
    if (row.planned_samples_per_s) row.of_plan = *row.samples_per_s / *row.planned_samples_per_s;
  }
  // A base is a row, too: it is compared with itself, which changes nothing that other rows need.
  for (ScalingRow& row : rows) {
    if (!is_measured(row)) continue;
    compare(*bases.at(row.point.group), row);
  }
  return rows;
}

std::optional<double> rate_of(std::optional<double> amount, const Outcome& outcome) {
  if (!amount || !outcome.step_ms) return std::nullopt;
  return 1e3 * *amount / outcome.step_ms->median;
}

bool is_left(const Outcome& run) {
  return run.state != PointState::Skipped && run.state != PointState::Finished &&
         run.state != PointState::Failed;
}

std::optional<double> seconds_left(const std::vector<ScalingRow>& rows) {
  std::vector<double> slowness;
  double planned_s = 0;
  for (const ScalingRow& row : rows) {
    if (row.of_plan) slowness.push_back(1 / *row.of_plan);
    for (const Outcome& run : row.runs) {
      if (!is_left(run)) continue;
      if (!row.point.planned) return std::nullopt;
      const int64_t steps = std::max<int64_t>(0, row.point.steps - run.steps);
      planned_s += static_cast<double>(steps) * row.point.planned->step_s;
    }
  }
  if (slowness.empty()) return planned_s;
  return planned_s * quantile(std::move(slowness), 0.5);
}

}  // namespace penstock
