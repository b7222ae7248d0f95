// runtime/records/report/time_shares.h -- time_shares(): divides the time of each rank in a
// recorded training step into computing, waiting, communication, summing and updating, for the bars
// in report.html.
#pragma once

#include <vector>

#include "runtime/records/report/reading/recorded_steps.h"

namespace penstock {

// One rank's time in a step, in milliseconds. The members add up to the length of the step.
struct TimeShares {
  double compute = 0;        // forwards and backwards
  double recompute = 0;      // forwards that are run again before their backward
  double bubble = 0;         // waiting for a message that was not sent yet, and idle time
  double communication = 0;  // posting sends, and waiting for a message that is on its way
  double reduction = 0;      // sums of gradients over replicas while the rank does nothing else
  double optimizer = 0;      // from the last backward and sum of all ranks to the step's end
  [[nodiscard]] double total() const {
    return compute + recompute + bubble + communication + reduction + optimizer;
  }
};

struct StepShares {
  double length_ms = 0;           // from the first start on any rank to the last end on any
  std::vector<TimeShares> ranks;  // in the order of RecordedProcess::ranks
};

// Computes the shares of each rank in one step; the times of all ranks must be by one common clock.
// A wait for a message is bubble until the sender has posted it (or, if the trace does not show the
// send, has computed it), and communication from then on. The time after a rank's last compute
// instruction is bubble until all ranks have ended theirs, then reduction until all sums are done,
// then optimizer, since the update needs the norm of all gradients.
[[nodiscard]] StepShares time_shares(const RecordedProcess& process);

// The mean over ranks and steps.
[[nodiscard]] TimeShares mean_of(const std::vector<StepShares>& steps);

}  // namespace penstock
