// launch/program/sweep/points.h -- draw_sweep(): the points of a sweep file, each with its
// configuration, what the planner expects of it, and whether it can be run at all.
#pragma once

#include <string>
#include <vector>

#include "launch/program/sweep/sweep_file.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

struct DrawnSweep {
  SweepRecord record = {};
  std::vector<Config> configs = {};     // by point; those of skipped points may be incomplete
  std::vector<std::string> notes = {};  // what a user may want to know, a line each
};

// Every combination of the grid that is a pipeline on one of the asked numbers of ranks, in the
// order of the grid. Combinations that come to the same point are one. Needs no ranks and allocates
// no weights. Throws Error(Input) for what is wrong with all points: run file, data, device.
[[nodiscard]] DrawnSweep draw_sweep(const SweepFile& sweep, const ModelMaker& models);

}  // namespace penstock
