// launch/program/sweep/batch_sweep.h -- a job of a batch system for each point of a sweep.
#pragma once

#include <string>

#include "launch/program/sweep/sweep_file.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

// Writes the job scripts and, where the file names the command for it, submits those that were not
// submitted before; `again` also those that have begun and not ended well. Says what it did. Throws
// Error(Resource) where the batch system takes no job; what it has taken is written down.
void submit_points(const SweepFile& sweep, const SweepRecord& record, const std::string& directory,
                   bool again);

}  // namespace penstock
