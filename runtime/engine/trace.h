// runtime/engine/trace.h -- Trace: some steps of all ranks as they ran, on one clock.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/comm/network.h"
#include "runtime/engine/executor.h"
#include "runtime/schedule/timeline.h"

namespace penstock {

// The first ones after the warm-up; or, in a shorter run, the last ones.
class Trace {
 public:
  // Records `steps` steps (0: none) of a run of `total`, from `first` on if the run is that long.
  Trace(int64_t steps, int64_t first, int64_t total);

  // Collective over `world` at the first step that is recorded: sets all clocks to zero together.
  // Ranks of one host agree to some microseconds, others to about the network's latency.
  void begin_step(int64_t step, Executor& executor, Collective& world);
  void end_step(int64_t step, const Executor& executor);

  // Collective over `world`: on rank 0 the timeline of every rank, in seconds; elsewhere empty.
  [[nodiscard]] Timeline gather(Collective& world) const;
  [[nodiscard]] bool empty() const { return first_ > last_; }

 private:
  int64_t first_, last_;  // steps recorded; none if last_ < first_
  std::vector<TimedInstruction> here_;
};

}  // namespace penstock
