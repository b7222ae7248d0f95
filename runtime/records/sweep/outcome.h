// runtime/records/sweep/outcome.h -- Outcome: what became of a point of a sweep, read from its run
// directory, whether the run goes on or has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/records/report/reading/history.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

enum class PointState : uint8_t {
  Skipped,      // is not to be run
  Waiting,      // has not begun, and has no job yet
  Submitted,    // has a job, which has not begun
  Running,      // a process that lives holds its directory
  Interrupted,  // began, did not end, and left no reason: to be resumed
  Failed,
  Finished,
};
// "skipped", "waiting", ...
[[nodiscard]] const char* word_of(PointState state);

// Times of steps in milliseconds.
struct StepTimes {
  size_t count = 0;                         // of steps
  double median = 0, lower = 0, upper = 0;  // lower, upper: the quartiles
};

struct Outcome {
  PointState state = PointState::Waiting;
  std::string reason = {};  // why it was skipped or failed
  int64_t steps = 0;        // done
  std::optional<StepTimes> step_ms = {};
  std::optional<double> tokens_per_s = {};  // where samples are tokens
  std::optional<double> loss = {};          // of the last step
  std::optional<double> bubble = {};        // measured
  std::optional<int64_t> peak_bytes = {};   // of the fullest rank
};

// Times of all steps but the first min(warmup, half of its steps) of each attempt. Nothing where no
// step is left.
[[nodiscard]] std::optional<StepTimes> steady_times(const History& history, int64_t warmup);

// Reads the outcome of a point of the sweep in the directory `sweep`; writes nothing. A run
// directory that cannot be made sense of is a failed point, with the reason.
[[nodiscard]] Outcome outcome_of(const std::string& sweep, const SweepPoint& point, int64_t warmup);

}  // namespace penstock
