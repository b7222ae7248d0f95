// launch/program/sweep/batch/batch_sweep.h -- starts the points of a sweep (the runs of an
// experiment of many runs) as jobs of a batch system such as Slurm or PBS: a job script for each
// point, which is submitted.
#pragma once

#include <string>

#include "launch/program/sweep/file/sweep_file.h"
#include "launch/program/sweep/points.h"

namespace penstock {

// Writes the job scripts to the sweep's `directory` and, where sweep.submit is set, submits those
// that were not submitted before; with `again` also those whose job has begun and not ended well.
// Tells the user what it did, or where there is no sweep.submit the lines to type. Throws
// Error(Resource) where the batch system takes no job; the jobs that it has taken by then are
// recorded.
void submit_points(const SweepFile& sweep, const DrawnSweep& drawn, const std::string& directory,
                   bool again);

}  // namespace penstock
