// runtime/records/sweep/outcome.h -- outcome_of(): what has become of one run of a sweep (an
// experiment of many runs): not begun, running, failed or finished, with its step times and loss,
// read from its run directory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/records/report/reading/history.h"
#include "runtime/records/sweep/record.h"
#include "runtime/records/sweep/step_times.h"

namespace penstock {

enum class PointState : uint8_t {
  Skipped,      // is not to be run, since it cannot (SweepPoint::skipped)
  Waiting,      // has not begun, and was not given to a batch system
  Submitted,    // was given to a batch system (Slurm, ...), and has not begun
  Running,      // a living process holds the lock of its run directory
  Interrupted,  // began and did not end, without a recorded failure: it will be resumed
  Failed,
  Finished,
};
// "skipped", "waiting", ...
[[nodiscard]] const char* word_of(PointState state);

// Null: not known, or not yet.
struct Outcome {
  PointState state = PointState::Waiting;
  std::string reason = {};                // why it was skipped or failed; else empty
  int64_t steps = 0;                      // how many are done
  std::optional<StepTimes> step_ms = {};  // without the warm-up steps
  // Tokens of a step, the mean over the steps of step_ms; only for networks that train on tokens.
  std::optional<double> tokens = {};
  std::optional<double> loss = {};            // of the last step; of several runs their mean
  std::optional<double> loss_deviation = {};  // sample standard deviation; only of several runs
  std::optional<double> bubble = {};          // measured, 0 to 1; only if finished
  std::optional<int64_t> peak_bytes = {};     // of the rank that needs the most; only if finished
};

// The times of the steps in `history`, without the first `warmup` steps of each attempt (start of
// the run), or without the first half if an attempt is shorter than twice that. Null if there are
// no steps.
[[nodiscard]] std::optional<StepTimes> steady_times(const History& history, int64_t warmup);

// Reads the outcome of one run of a point. `sweep` is the directory of the whole sweep; `warmup` is
// as above. Changes no file. A dry run that has ended counts as Finished, without numbers. If the
// run directory is damaged, the run counts as Failed, with the reason.
[[nodiscard]] Outcome outcome_of(const std::string& sweep, const SweepPoint& point, int repeat,
                                 int64_t warmup);

}  // namespace penstock
