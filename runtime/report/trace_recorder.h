// runtime/report/trace_recorder.h -- some steps of all ranks as they ran, on one clock.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/comm/network.h"
#include "runtime/pipeline/executor.h"
#include "runtime/telemetry/trace_json.h"

namespace penstock {

class TraceRecorder {
 public:
  // Records `steps` steps (0: none) of a run of `total`: from step `first` on, or, in a run too
  // short for that, the last ones.
  TraceRecorder(int64_t steps, int64_t first, int64_t total);

  [[nodiscard]] bool records(int64_t step) const { return step >= first_ && step <= last_; }
  [[nodiscard]] bool empty() const { return first_ > last_; }
  // Collective over `world` before the first step that is recorded: sets all clocks to zero
  // together. Ranks of one host agree to some microseconds, others to about the network's latency.
  void begin_step(int64_t step, Executor& executor, Collective& world);
  void end_step(int64_t step, Executor& executor);

  // Collective over `world`: on rank 0 every recorded step of every rank; elsewhere empty.
  [[nodiscard]] std::vector<TracedStep> gather(Collective& world) const;

 private:
  int64_t first_, last_;
  std::vector<TimedInstruction> here_;  // of all recorded steps, which are equally long
};

}  // namespace penstock
