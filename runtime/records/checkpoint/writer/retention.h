// runtime/records/checkpoint/writer/retention.h -- which checkpoints of a run are removed when a
// new one is complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/layout.h"

namespace penstock {

// The checkpoints to remove. `of_the_run`: all complete ones of the run, by ascending step up to
// the new one. Pure.
[[nodiscard]] std::vector<StepDirectory> retired(const std::vector<StepDirectory>& of_the_run,
                                                 const Retention& retention);

// Removes an earlier checkpoint of the same step `latest`, which the new one has replaced, and the
// checkpoints of `run` before step `latest` that `retention` does not keep. Leaves alone
// checkpoints of other runs or later steps, and whatever is no complete checkpoint. Throws
// Error(Resource) when something cannot be removed.
void retire_steps(const std::string& root, const Retention& retention, const std::string& run,
                  int64_t latest);

}  // namespace penstock
