#include "runtime/records/sweep/scaling.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/records/telemetry/quantile.h"

namespace penstock {
namespace {

bool is_left(const ScalingRow& row) {
  return row.outcome.state != PointState::Skipped && row.outcome.state != PointState::Finished &&
         row.outcome.state != PointState::Failed;
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
    if (row.outcome.state != PointState::Finished || !row.samples_per_s) continue;
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
                                     const std::vector<Outcome>& outcomes) {
  std::vector<ScalingRow> rows;
  for (size_t i = 0; i < points.size(); ++i) {
    ScalingRow& row = rows.emplace_back(ScalingRow{.point = points[i], .outcome = outcomes[i]});
    const auto samples = static_cast<double>(row.point.sizes.mini_batch());
    if (row.outcome.step_ms) row.samples_per_s = 1e3 * samples / row.outcome.step_ms->median;
    if (row.point.planned) row.planned_samples_per_s = samples / row.point.planned->step_s;
  }
  const auto bases = bases_of(rows);
  for (ScalingRow& row : rows) {
    if (row.outcome.state != PointState::Finished || !row.samples_per_s) continue;
    if (row.planned_samples_per_s) row.of_plan = *row.samples_per_s / *row.planned_samples_per_s;
  }
  // A base is a row, too: it is compared with itself, which changes nothing that other rows need.
  for (ScalingRow& row : rows) {
    if (row.outcome.state != PointState::Finished || !row.samples_per_s) continue;
    compare(*bases.at(row.point.group), row);
  }
  return rows;
}

std::optional<double> seconds_left(const std::vector<ScalingRow>& rows) {
  std::vector<double> slowness;
  double planned_s = 0;
  for (const ScalingRow& row : rows) {
    if (row.of_plan) slowness.push_back(1 / *row.of_plan);
    if (!is_left(row)) continue;
    if (!row.point.planned) return std::nullopt;
    const int64_t steps = std::max<int64_t>(0, row.point.steps - row.outcome.steps);
    planned_s += static_cast<double>(steps) * row.point.planned->step_s;
  }
  if (slowness.empty()) return planned_s;
  return planned_s * quantile(std::move(slowness), 0.5);
}

}  // namespace penstock
