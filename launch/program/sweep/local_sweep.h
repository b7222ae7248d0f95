// launch/program/sweep/local_sweep.h -- runs the points of a sweep on this machine, one after the
// other, each started by the sweep's launcher (mpirun).
#pragma once

#include <string>

#include "launch/program/sweep/file/sweep_file.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

// Runs the points that are not finished yet, and writes the results to the sweep's `directory`
// after each. Where a point fails, the reason is recorded and the next one begins, unless
// sweep.stops_on_failure. At the first signal that asks to stop (SIGTERM, ...) the point that runs
// ends its step and writes a checkpoint, and no other begins. Returns the exit code of the first
// point that failed; 75 after such a signal, or when a point was asked to stop in another way; else
// 0.
[[nodiscard]] int run_locally(const SweepFile& sweep, const SweepRecord& record,
                              const std::string& directory);

}  // namespace penstock
