// launch/program/sweep/batch/node_hours.h -- what the jobs of a batch sweep cost, told before they
// are submitted.
#pragma once

#include <string>
#include <vector>

#include "launch/program/sweep/file/sweep_file.h"
#include "runtime/records/sweep/scaling.h"

namespace penstock {

// A sentence on the runs that have not finished: how many there are, the node-hours that training
// takes by the plan (corrected by what was measured of finished points), and the most that one turn
// of each job may take where the sweep gives jobs a walltime.
[[nodiscard]] std::string node_hours_text(const SweepFile& sweep,
                                          const std::vector<ScalingRow>& rows);

}  // namespace penstock
