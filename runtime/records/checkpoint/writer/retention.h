// runtime/records/checkpoint/writer/retention.h -- decides which older checkpoints of a run are
// removed when a new one is complete, and removes them, by the rules of Retention (checkpoint.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/layout.h"

namespace penstock {

// Returns the checkpoints to remove, and removes nothing. `of_the_run`: all complete checkpoints of
// the run, by ascending step; the last one is the new one. `best`: the step of the one that
// retention.best keeps; 0: none.
[[nodiscard]] std::vector<StepDirectory> retired(const std::vector<StepDirectory>& of_the_run,
                                                 const Retention& retention, int64_t best);

// Removes checkpoints below `root`; called when that of step `latest` is complete. It removes an
// older checkpoint of the same step, which publish_step() (layout.h) has put aside, and those of
// the run with the identity `run` before step `latest` that `retention` does not keep. With
// retention.best the link `best` is settled before (settle_best_link()). Checkpoints of other runs
// and of later steps stay. Throws Error(Resource) when something cannot be removed.
void retire_steps(const std::string& root, const Retention& retention, const std::string& run,
                  int64_t latest);

}  // namespace penstock
