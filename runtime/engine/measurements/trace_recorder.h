// runtime/engine/measurements/trace_recorder.h -- TraceRecorder: records when each rank executed
// each instruction in some steps of a run, and brings these times together on rank 0, all by rank
// 0's clock. Run and DryRun make trace.json of it (--trace).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/engine/measurements/rank_clocks.h"
#include "runtime/engine/pipeline/executor.h"
#include "runtime/records/telemetry/trace_json.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The recording of all ranks, on rank 0; elsewhere `steps` is empty.
struct RecordedTrace {
  std::vector<TracedStep> steps = {};
  int clocks = 1;            // how many different clocks the ranks' times come from
  double clock_error_s = 0;  // times by different clocks may disagree by so many seconds
};

class TraceRecorder {
 public:
  // The run is about to take the steps `next` .. `last`; `steps` of them are recorded (0: none):
  // the first ones after the warm-up (RunReport::kWarmUpSteps) or, where these are too few, the
  // last ones.
  // `common_clock`: the seconds of a clock that all ranks have in common, by which executors date
  // instructions, as in a dry run; empty: each host has its own monotonic clock.
  TraceRecorder(int64_t steps, int64_t next, int64_t last,
                std::function<double()> common_clock = {});

  // Whether no step has been recorded.
  [[nodiscard]] bool empty() const { return recorded_ == 0; }
  // Whether steps are recorded from this one or an earlier one on until a later one.
  [[nodiscard]] bool spans(int64_t step) const { return first_ <= step && step < last_; }
  // begin_step() and end_step() are called on every rank around every step, recorded or not.
  // begin_step() of the first recorded step and end_step() of the last one read the ranks' clocks,
  // which is collective over `world` (all ranks) and not a part of what is timed.
  void begin_step(int64_t step, Executor& executor, Collective& world);
  void end_step(int64_t step, Executor& executor);

  // Collective over all ranks, at the end. Times are in seconds of rank 0's clock since the
  // beginning of the first recorded step.
  [[nodiscard]] RecordedTrace gather();

 private:
  // This rank's clock, and a look at the others' where they differ.
  [[nodiscard]] double seconds() const;
  void read_clocks();

  int64_t first_, last_;
  int64_t recorded_ = 0;                // steps recorded so far
  double zero_s_ = 0;                   // the time 0 of here_, by this rank's clock
  std::vector<TimedInstruction> here_;  // instructions of all recorded steps; each step has as many
  std::vector<int64_t> bytes_;          // device memory in use after each instruction of here_
  Collective* world_ = nullptr;
  std::function<double()> common_clock_;
  std::optional<RankClocks> clocks_;  // null where they have a common one
};

}  // namespace penstock
