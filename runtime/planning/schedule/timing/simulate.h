// runtime/planning/schedule/timing/simulate.h -- simulate(): when every instruction of a step would
// run, from the times of ops and links.
//
// Every rank runs its program in order and each instruction as early as its inputs allow. Messages
// travel while the rank computes; a send waits for nothing, or for room in the window that the
// transport's rules (replay.h) give each directed edge: until the message that many before it has
// been received.
//
//   message    leaves when its sender has spent `overhead` on it and the message before on the same
//              directed edge (stage -> stage) is through; holds the edge for bytes x
//              seconds_per_byte; arrives `latency` later, when the receiver spends `overhead`, too.
//              Where the receiver copies, the receive takes the bytes' time instead of the edge.
//   reduction  of a stage with a ReduceGradients: starts in its last weight gradient, wherever the
//              instruction stands; buckets are summed one after another per rank, beside whatever
//              the rank computes, each in 2 latencies and the time of 2 (D-1)/D of its bytes
//              (direct reduce-scatter and all-gather, runtime/system/comm/mpi/mpi_reduce.h). Where
//              the receiver copies, the bytes move while the rank waits, and after its last
//              instruction. Its TimedInstruction lasts from the first bucket to the last.
//   update     starts on every rank when all gradients of all ranks are there, since the clip norm
//              needs every one; without a barrier when all of the rank's own are there. It must be
//              the last instruction of a rank to take time. Where replicas share it out, a sum is
//              the first of its two halves, 1 latency and (D-1)/D of the bytes, and the weights
//              take the other.
//   weights    that other replicas have updated come within the update or, with
//              PipelineCosts::late_weights, from the moment at which the rank begins the next
//              step, those of its first stage first; the first forward of a stage then ends only
//              when all weights of the stage have come.
//
// No link is shared: messages on different edges, and a rank's messages and sums, do not slow one
// another.
#pragma once

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// Accepts schedules before and after lower(). In a compute-only schedule there are no messages:
// another rank's results arrive `latency` later, however large. Throws std::invalid_argument if the
// schedule is malformed or gets stuck under `rules`, naming where, or if the costs do not fit it
// (check_costs). O(instructions).
[[nodiscard]] Timeline simulate(const Schedule& schedule, const PipelineCosts& costs,
                                const TransportRules& rules = {});

// One of a long row of equal steps, each of which a rank begins when it has ended the one before
// (costs.begins is not read). With a barrier this is simulate()'s step.
struct SteadyStep {
  double length = 0;  // from the beginning of a step to that of the next
  Timeline timeline;  // of one step; 0 is when the first rank begins it
};
[[nodiscard]] SteadyStep simulate_steady(const Schedule& schedule, PipelineCosts costs,
                                         const TransportRules& rules = {});

// The time by which steady steps are longer than they would be if messages and sums took no time:
// the communication that is not hidden behind computation. Simulates twice.
[[nodiscard]] double exposed_communication(const Schedule& schedule, const PipelineCosts& costs,
                                           const TransportRules& rules = {});

}  // namespace penstock
