// tests/unit/records/sweep/sample_rows.h -- points of a sweep that never was, with what became of
// them.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/scaling.h"

namespace penstock {

inline SweepPoint planned_point(const std::string& name, int stages, double step_s) {
  return {.name = name,
          .sizes = {.stages = stages, .micro_batches = 8, .micro_batch_size = 4},
          .schedule = "1f1b",
          .recompute = "stage",
          .steps = 100,
          .planned = PointForecast{.step_s = step_s, .bubble = 0.2, .peak_bytes = 1 << 20}};
}

inline Outcome measured(double step_ms) {
  return {
      .state = PointState::Finished,
      .steps = 100,
      .step_ms =
          StepTimes{
              .count = 90, .median = step_ms, .lower = step_ms, .upper = step_ms, .mean = step_ms},
      .loss = 0.1,
      .bubble = 0.25,
      .peak_bytes = 2 << 20};
}

// Two on one rank, one on two, one on four that failed, one that is skipped.
inline std::vector<ScalingRow> five_rows() {
  std::vector<SweepPoint> points = {planned_point("slow", 1, 0.032),
                                    planned_point("fast", 1, 0.016), planned_point("two", 2, 0.008),
                                    planned_point("four", 4, 0.004),
                                    planned_point("nine", 9, 0.001)};
  points[4].skipped = "more stages than layers, \"9\" | 5";
  points[4].planned.reset();
  return scaling_rows(points, {{measured(40)},
                               {measured(20)},
                               {measured(12.5)},
                               {{.state = PointState::Failed, .reason = "exit code 6: no, not it"}},
                               {{.state = PointState::Skipped, .reason = points[4].skipped}}});
}

}  // namespace penstock
