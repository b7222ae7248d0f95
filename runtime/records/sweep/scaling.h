// runtime/records/sweep/scaling.h -- scaling_rows(): computes from the measured step times of a
// sweep how well the training scales: speed-up and efficiency of each point, against the point with
// the fewest ranks and against the plan.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/sweep/outcome.h"

namespace penstock {

// A point and what is computed of it. Null: not known, or not yet.
struct ScalingRow {
  SweepPoint point;
  std::vector<Outcome> runs;                         // of each repeat
  Outcome outcome = {};                              // of all of them: combined()
  std::optional<double> samples_per_s = {};          // mini-batch / median step time
  std::optional<double> tokens_per_s = {};           // tokens of a step / median step time
  std::optional<double> planned_samples_per_s = {};  // mini-batch / predicted step time
  // The base of a group (SweepPoint::group) is its point with the fewest ranks of which a run has
  // finished, the fastest of several. speed_up = samples_per_s / that of the base.
  std::optional<double> speed_up = {};
  std::optional<double> efficiency = {};  // speed_up / (ranks / ranks of the base); ideal: 1
  std::optional<double> of_plan = {};     // samples_per_s / planned_samples_per_s
  std::string base = {};                  // the name of the base; empty if nothing is compared
};

// Returns a row for each point. `runs` has the outcomes of each of `points`. Points of
// which no run has finished may have samples_per_s, but no speed_up, efficiency or of_plan.
[[nodiscard]] std::vector<ScalingRow> scaling_rows(const std::vector<SweepPoint>& points,
                                                   const std::vector<std::vector<Outcome>>& runs);

// The amount of something in a step (samples, tokens) over the median step time; null if one of the
// two is not known.
[[nodiscard]] std::optional<double> rate_of(std::optional<double> amount, const Outcome& outcome);

// Whether the run is still to come or to go on: it has neither finished nor failed.
[[nodiscard]] bool is_left(const Outcome& run);

// Estimates the seconds of training that the runs still need: the sum of their predicted step
// times, times the median ratio of measured to predicted step times of finished points. Null if a
// run that is still to come has no prediction. Start-up, evaluations and checkpoints come on top.
[[nodiscard]] std::optional<double> seconds_left(const std::vector<ScalingRow>& rows);

}  // namespace penstock
