// runtime/engine/measurements/trace_recorder.h -- TraceRecorder: records some steps of all ranks,
// instruction by instruction, with all times by rank 0's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/engine/measurements/rank_clocks.h"
#include "runtime/engine/pipeline/executor.h"
#include "runtime/records/telemetry/trace_json.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The recording of all ranks, on rank 0; its steps are empty elsewhere.
struct RecordedTrace {
  std::vector<TracedStep> steps = {};
  int clocks = 1;            // how many different clocks the ranks' times come from
  double clock_error_s = 0;  // how far times of different clocks may disagree
};

class TraceRecorder {
 public:
  // Records `steps` steps (0: none) of those from `next` to `last`, which are about to be taken:
  // the first ones after the warm-up, or, where they are too few for that, the last ones.
  TraceRecorder(int64_t steps, int64_t next, int64_t last);

  // Whether nothing has been recorded.
  [[nodiscard]] bool empty() const { return recorded_ == 0; }
  // Called around every step. Before the first recorded step and after the last one they read the
  // ranks' clocks, which is collective over `world`, outside of what is timed.
  void begin_step(int64_t step, Executor& executor, Collective& world);
  void end_step(int64_t step, Executor& executor);

  // Collective over the world: every recorded step of every rank, in seconds of rank 0's clock
  // since the beginning of the first one.
  [[nodiscard]] RecordedTrace gather();

 private:
  int64_t first_, last_;
  int64_t recorded_ = 0;                // steps
  double zero_s_ = 0;                   // when the times of here_ begin, by this rank's clock
  std::vector<TimedInstruction> here_;  // all recorded steps, which are equally long
  std::vector<int64_t> bytes_;          // in use after each
  Collective* world_ = nullptr;
  std::optional<RankClocks> clocks_;
};

}  // namespace penstock
