// runtime/planning/schedule/timing/simulate.h -- when every instruction would run, from the times
// of the ops and of the links.
//
// Every rank runs its program in order and each instruction as early as its inputs allow. Messages
// travel while the rank computes; a send waits for nothing, or for room in the window that the
// transport's rules (replay.h) give each directed edge: until the message that many before it has
// been received.
//
//   message    leaves when its sender has spent `overhead` on it and the one before on the same
//              directed edge (stage -> stage) is through; holds the edge for bytes x
//              seconds_per_byte; is there `latency` later, and the receiver spends `overhead` too.
//              Where the receiver copies, the edge is free and the receive itself takes the time.
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
//   weights    that other replicas have updated, where they come late (PipelineCosts), set out when
//              the rank begins the step, those of its first stage first; the first forward of a
//              stage ends when all of its own are there, or later. Else they are a part of the
//              update.
//
// Links are not shared: different edges, and a rank's messages and sums, do not slow one another.
#pragma once

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// Accepts schedules before and after lower(). In a compute-only one nobody sends: what another rank
// has made is there `latency` later, however large.
// Throws std::invalid_argument if it is malformed or gets stuck under those rules, naming where, or
// if the costs do not fit it (check_costs). O(instructions).
[[nodiscard]] Timeline simulate(const Schedule& schedule, const PipelineCosts& costs,
                                const TransportRules& rules = {});

// A step in a row of such steps, of which each rank begins the next when it has ended its own
// (costs.begins is not read). With a barrier that is the step alone.
struct SteadyStep {
  double length = 0;  // from one step to the next
  Timeline timeline;  // of one; the first rank to begin does so at 0
};
[[nodiscard]] SteadyStep simulate_steady(const Schedule& schedule, PipelineCosts costs,
                                         const TransportRules& rules = {});

// The time by which steady steps are longer than they would be if messages and sums took no time:
// the communication that is not hidden behind computation. Simulates twice.
[[nodiscard]] double exposed_communication(const Schedule& schedule, const PipelineCosts& costs,
                                           const TransportRules& rules = {});

}  // namespace penstock
