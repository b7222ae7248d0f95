// runtime/records/sweep/scaling.h -- how well a sweep scales: speed-up, and efficiency against the
// ideal and against the plan. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/sweep/outcome.h"

namespace penstock {

// A point with what is measured of it; absent: not known, or not yet.
struct ScalingRow {
  SweepPoint point;
  Outcome outcome;
  std::optional<double> samples_per_s = {};  // at the median step time
  std::optional<double> planned_samples_per_s = {};
  // The following compare with the base of the point's group: of its finished points with the
  // fewest ranks the fastest.
  std::optional<double> speed_up = {};
  std::optional<double> efficiency = {};  // speed-up over the ideal: ranks over the base's ranks
  std::optional<double> of_plan = {};     // samples_per_s over planned_samples_per_s
  std::string base = {};                  // the base's name
};

// A row for each point; `outcomes` by point. Points that have not finished have samples_per_s, but
// nothing that compares it.
[[nodiscard]] std::vector<ScalingRow> scaling_rows(const std::vector<SweepPoint>& points,
                                                   const std::vector<Outcome>& outcomes);

// Seconds of training that are left: what the plan says, times the median of measured over planned
// step times. Nothing where a point that is left has no plan. Start-up, evaluation and checkpoints
// come on top.
[[nodiscard]] std::optional<double> seconds_left(const std::vector<ScalingRow>& rows);

}  // namespace penstock
