// runtime/records/report/time_shares.h -- where the time of a recorded step went, rank by rank.
#pragma once

#include <vector>

#include "runtime/records/report/reading/recorded_steps.h"

namespace penstock {

// A rank's time in a step, in milliseconds; the sum is the length of the step.
struct TimeShares {
  double compute = 0;        // forwards and backwards
  double recompute = 0;      // forwards that are done again for their backward
  double bubble = 0;         // waiting for what another rank had not sent yet, and idle time
  double communication = 0;  // exposed: posting sends, and waiting for what was already sent
  double reduction = 0;      // sums over replicas, as far as nothing else ran beside
  double optimizer = 0;      // from the last backward and sum of all ranks to the end of the update
  [[nodiscard]] double total() const {
    return compute + recompute + bubble + communication + reduction + optimizer;
  }
};

struct StepShares {
  double length_ms = 0;           // from the first start on any rank to the last end on any
  std::vector<TimeShares> ranks;  // in the order of the process
};

// The shares of each rank in a step; the spans of all ranks must be by one clock. A wait for a
// message counts as bubble until the sender has posted the message (or computed it, where the trace
// has no span for that), and as exposed communication from then on. Behind a rank's last compute
// instruction time counts as bubble until all ranks have ended theirs, then as reduction until all
// sums are done, then as the optimizer's, which needs every gradient for their norm.
[[nodiscard]] StepShares time_shares(const RecordedProcess& process);

// The mean over ranks and steps.
[[nodiscard]] TimeShares mean_of(const std::vector<StepShares>& steps);

}  // namespace penstock
