#include "launch/program/sweep/batch/node_hours.h"

#include <fmt/format.h>

#include "launch/program/sweep/launch_words.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {

std::string node_hours_text(const SweepFile& sweep, const std::vector<ScalingRow>& rows) {
  int64_t jobs = 0;
  int64_t nodes = 0;  // of all jobs
  double planned_s = 0;
  bool is_planned = true;
  for (const ScalingRow& row : rows) {
    const int here = nodes_of(sweep, row.point).value_or(PointNodes{}).nodes;
    int64_t left = 0;
    for (const Outcome& run : row.runs) left += is_left(run) ? 1 : 0;
    const std::optional<double> seconds = seconds_left({row});
    is_planned = is_planned && seconds;
    planned_s += here * seconds.value_or(0);
    jobs += left;
    nodes += here * left;
  }
  std::string text = amount_text(jobs, "job") + " to come";
  text += is_planned
              ? fmt::format(": about {:.3g} node-hours of training as planned", planned_s / 3600)
              : ": node-hours are not known, since not all points are planned";
  if (sweep.walltime_s > 0) {
    text += fmt::format(", at most {:.3g} in one turn of each job (sweep.walltime)",
                        static_cast<double>(nodes) * sweep.walltime_s / 3600);
  }
  return text + "; start-up, evaluation and checkpoints come on top";
}

}  // namespace penstock
