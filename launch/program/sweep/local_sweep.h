// launch/program/sweep/local_sweep.h -- the points of a sweep, one after the other, on the ranks
// that its launcher starts.
#pragma once

#include <string>

#include "launch/program/sweep/sweep_file.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

// Runs what is not finished yet and writes the results after each point. A point that fails is
// written down with its reason, and the next one begins, unless the file says otherwise. The first
// signal that asks to stop lets the point end its step and write a checkpoint. Returns the exit
// code: that of the first point that failed, 75 when it was asked to stop.
[[nodiscard]] int run_locally(const SweepFile& sweep, const SweepRecord& record,
                              const std::string& directory);

}  // namespace penstock
