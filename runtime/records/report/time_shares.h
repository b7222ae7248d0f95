// runtime/records/report/time_shares.h -- where the time of a recorded step went, rank by rank.
#pragma once

#include <vector>

#include "runtime/records/report/reading/recorded_steps.h"

namespace penstock {

// Milliseconds. Together they are the length of the step.
struct TimeShares {
  double compute = 0;        // forwards and backwards
  double recompute = 0;      // forwards again, before their backward
  double bubble = 0;         // waiting for what another rank had not sent yet, or for nothing
  double communication = 0;  // exposed: posting sends, and waiting for what was already sent
  double reduction = 0;      // sums over replicas, as far as nothing else ran beside
  double optimizer = 0;      // from the last backward and sum of all ranks to the end of the update
  [[nodiscard]] double total() const {
    return compute + recompute + bubble + communication + reduction + optimizer;
  }
};

struct StepShares {
  double length_ms = 0;           // from the first start of all ranks to their last end
  std::vector<TimeShares> ranks;  // in the order of the process
};

// The spans of all ranks need one clock. A wait for a message counts as bubble until the rank that
// sends it has posted it (where the trace has no such span: has computed it) and as exposed
// communication from then on. From the end of a rank's last compute instruction until all ranks
// have ended theirs, its time counts as bubble; then as reduction until all sums are done, and then
// as the optimizer's, which needs every gradient for their norm.
[[nodiscard]] StepShares time_shares(const RecordedProcess& process);

// The mean over ranks and steps.
[[nodiscard]] TimeShares mean_of(const std::vector<StepShares>& steps);

}  // namespace penstock
