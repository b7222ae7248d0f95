// runtime/planning/replay/availability.h -- what failures cost a long job, and how often to write
// checkpoints. After Daly 2006, "A higher order estimate of the optimum checkpoint interval for
// restart dumps", which begins where Young 1974 ended. Failures come at any time alike (a Poisson
// process); each loses what was done since the last checkpoint, and restarts may fail too.
#pragma once

namespace penstock {

struct FailureModel {
  double job_mtbf_s = 0;    // from one failure of the job to the next, on average; 0: none ever
  double checkpoint_s = 0;  // for which training stands still, each time
  double restart_s = 0;     // from a failure to the first step after it
};

// Seconds of training between two checkpoints for which the least time is lost: Daly's higher order
// estimate; the mean time between failures where a checkpoint takes twice that or more. Throws
// std::invalid_argument without failures or where a checkpoint takes no time: no interval is best
// then.
[[nodiscard]] double best_checkpoint_interval(const FailureModel& failures);

// The share of the job's time that goes into training that is not lost, with a checkpoint after
// every `interval_s` of it: Daly's complete model. Without failures: the share that checkpoints
// leave.
[[nodiscard]] double goodput(const FailureModel& failures, double interval_s);

}  // namespace penstock
