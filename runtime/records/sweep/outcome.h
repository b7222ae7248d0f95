// runtime/records/sweep/outcome.h -- what became of a point, as its run directory tells it, whether
// the run goes on or has ended.
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
  Waiting,      // has not begun
  Submitted,    // its job has not begun
  Running,      // a process that lives holds its directory
  Interrupted,  // it began, did not end, and nobody said why: to be resumed
  Failed,
  Finished,
};
// "skipped", "waiting", ...
[[nodiscard]] const char* word_of(PointState state);

// The times of steady steps, which are all but the first ones of each attempt, in milliseconds.
struct StepTimes {
  size_t count = 0;
  double median = 0, lower = 0, upper = 0;  // and the quartiles
};

struct Outcome {
  PointState state = PointState::Waiting;
  std::string reason = {};  // of what was skipped, or failed
  int64_t steps = 0;        // done
  std::optional<StepTimes> step_ms = {};
  std::optional<double> tokens_per_s = {};  // where samples are tokens
  std::optional<double> loss = {};          // of the last step
  std::optional<double> bubble = {};        // measured
  std::optional<int64_t> peak_bytes = {};   // of the fullest rank
};

// Leaves out the first `warmup` steps of each attempt, or half of them where it has fewer than
// twice that. Nothing where no step is left.
[[nodiscard]] std::optional<StepTimes> steady_times(const History& history, int64_t warmup);

// Reads only. A directory that cannot be made sense of is a failed point, with the reason.
[[nodiscard]] Outcome outcome_of(const std::string& sweep, const SweepPoint& point, int64_t warmup);

}  // namespace penstock
