// runtime/planning/replay/availability.h -- how often a long job should write checkpoints, and
// which share of its time is left for training, when machines fail now and then.
//
// The formulas are those of Daly 2006, "A higher order estimate of the optimum checkpoint interval
// for restart dumps". Failures come at random at a constant rate (a Poisson process). Each one
// loses the work since the last checkpoint, and the restart takes time, in which failures may come,
// too. All times are in seconds.
#pragma once

namespace penstock {

struct FailureModel {
  // Mean time between failures of the whole job (of any of its ranks); 0: it never fails.
  double job_mtbf_s = 0;
  double checkpoint_s = 0;  // how long writing a checkpoint stops training
  double restart_s = 0;     // from a failure to the first step after it
};

// Returns the seconds of training between two checkpoints with which the least time is lost: Daly's
// higher-order estimate, or job_mtbf_s where a checkpoint takes 2 x job_mtbf_s or more. Throws
// std::invalid_argument where the job never fails or a checkpoint takes no time, since there is no
// best interval then.
[[nodiscard]] double best_checkpoint_interval(const FailureModel& failures);

// Returns the share (0 to 1) of the job's time that goes into training whose results are not lost,
// with a checkpoint after every `interval_s` seconds of training: Daly's complete model. Where the
// job never fails, it is the share of time that writing checkpoints leaves.
[[nodiscard]] double goodput(const FailureModel& failures, double interval_s);

}  // namespace penstock
