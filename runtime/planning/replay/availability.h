// runtime/planning/replay/availability.h -- what failures cost a long job, and how often to write
// checkpoints, after Daly 2006, "A higher order estimate of the optimum checkpoint interval for
// restart dumps". Failures come at any time with the same probability (a Poisson process); each
// loses the work since the last checkpoint, and restarts may fail too.
#pragma once

namespace penstock {

struct FailureModel {
  double job_mtbf_s = 0;    // mean time between failures of the job; 0: it never fails
  double checkpoint_s = 0;  // for which each checkpoint stops training
  double restart_s = 0;     // from a failure to the first step after it
};

// The seconds of training between two checkpoints that lose the least time: Daly's higher order
// estimate; but job_mtbf_s where a checkpoint takes twice that or more. Throws
// std::invalid_argument where the job never fails or a checkpoint takes no time: no interval is
// best then.
[[nodiscard]] double best_checkpoint_interval(const FailureModel& failures);

// The share of the job's time that goes into training whose results are kept, with a checkpoint
// after every `interval_s` of training: Daly's complete model. Where the job never fails: the share
// that checkpoints leave.
[[nodiscard]] double goodput(const FailureModel& failures, double interval_s);

}  // namespace penstock
