// launch/program/sweep/local_sweep.h -- runs the points of a sweep on this machine, one after the
// other, each by the sweep's launcher (mpirun).
#pragma once

#include <string>

#include "launch/program/sweep/sweep_file.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

// Runs the points that are not finished yet and writes the results to the sweep's `directory` after
// each. The failure of a point is recorded with its reason, and the next point begins, unless
// sweep.stops_on_failure. At the first signal that asks to stop, the point ends its step and writes
// a checkpoint. Returns the exit code of the first point that failed, or 75 after such a signal.
[[nodiscard]] int run_locally(const SweepFile& sweep, const SweepRecord& record,
                              const std::string& directory);

}  // namespace penstock
