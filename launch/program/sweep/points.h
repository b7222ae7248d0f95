// launch/program/sweep/points.h -- draw_sweep(): makes the points of a sweep from its file: every
// combination of the values that are varied, each with its configuration, its forecast, and whether
// it can be run at all.
#pragma once

#include <string>
#include <vector>

#include "launch/program/sweep/file/sweep_file.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

// The points in record.points, and beside them their configurations.
struct DrawnSweep {
  SweepRecord record = {};
  // By point, those of their first runs; those of skipped points may be incomplete.
  std::vector<Config> configs = {};
  std::vector<std::string> notes = {};  // for the user, a line each
};

// The configuration of one run of the point with that index. Repeats count from 1.
[[nodiscard]] Config config_of_run(const DrawnSweep& sweep, size_t point, int repeat);

// Every combination of the grid that makes a pipeline on one of the asked numbers of ranks
// (sweep.ranks), in the order of the grid. Combinations that come to the same run are one point.
// Uses no MPI and allocates no weights. Throws Error(Input) for what is wrong with all points: run
// file, data, device.
[[nodiscard]] DrawnSweep draw_sweep(const SweepFile& sweep, const ModelMaker& models);

}  // namespace penstock
