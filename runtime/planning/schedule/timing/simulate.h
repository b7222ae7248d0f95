// runtime/planning/schedule/timing/simulate.h -- simulate(): predicts when every instruction of a
// training step starts and ends, from a schedule and the times of passes and links.
//
// A Schedule (schedule.h) and PipelineCosts (costs.h) go in, a Timeline (timeline.h) comes out.
// Plans, forecasts and pictures are made from it. The rules: every rank runs its program in order,
// and each instruction as early as its inputs allow. Messages travel while the rank computes. A
// send waits for nothing or, where the transport has a window of w messages (TransportRules,
// replay.h), until the w-th message before it to the same stage has been received.
//
// D in the table is the number of replicas; `overhead`, `latency` and `seconds_per_byte` are those
// of the link (LinkTimes). A directed edge is the way of messages from one stage to another.
//
//   message    leaves when its sender has spent `overhead` on it and the message before it on the
//              same directed edge is through; takes the edge for bytes x seconds_per_byte; arrives
//              `latency` later, when the receiver spends `overhead`, too. Where the receiver copies
//              (LinkTimes::receiver_copies), those bytes take the receiver's time instead.
//   reduction  of a stage with a ReduceGradients: starts in its last weight gradient, wherever the
//              instruction stands; buckets are summed one after another per rank, beside whatever
//              the rank computes, each in 2 latencies and the time of 2 (D-1)/D of its bytes
//              (direct reduce-scatter and all-gather, runtime/system/comm/mpi/mpi_reduce.h). Where
//              the receiver copies, the bytes move while the rank waits, and after its last
//              instruction. Its TimedInstruction lasts from the first bucket to the last.
//   update     (OptimizerStep) starts on every rank when all gradients of all ranks are there:
//              gradient clipping needs the norm over all; without a barrier when all of the rank's
//              own are there. It must be the rank's last instruction that takes time. Where
//              replicas share updates out (PipelineCosts::updates_are_shared), a sum before the
//              update is the reduce-scatter alone: 1 latency and (D-1)/D of the bytes.
//   weights    that other replicas have updated come by an all-gather, which takes 1 latency and
//              (D-1)/D of the bytes: within the update or, with PipelineCosts::late_weights, from
//              the moment at which the rank begins the next step, those of its first stage first;
//              the first forward of a stage then ends when all weights of the stage have come.
//
// Links are not shared: messages on different edges, and a rank's messages and sums, do not slow
// one another down. (replay_step() in runtime/planning/replay has network cards that are shared.)
#pragma once

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// The timeline of one step. Accepts schedules before and after lower() (lower.h). Before it there
// are no messages: a result of another rank arrives `latency` after it is computed, whatever its
// size. Throws std::invalid_argument if the schedule is malformed, if it deadlocks under `rules`
// (the message says where), or if the costs do not fit it (check_costs()). O(instructions).
[[nodiscard]] Timeline simulate(const Schedule& schedule, const PipelineCosts& costs,
                                const TransportRules& rules = {});

// One step in the middle of a long run of equal steps, in which each rank begins a step when it has
// ended the one before; without a barrier, ranks then begin at different times. costs.begins is not
// read. With a barrier this is the step of simulate().
struct SteadyStep {
  double length = 0;  // from the beginning of a step to that of the next
  Timeline timeline;  // of one step; 0 is when the first rank begins it
};
[[nodiscard]] SteadyStep simulate_steady(const Schedule& schedule, PipelineCosts costs,
                                         const TransportRules& rules = {});

// The communication that is not hidden behind computation: the length of a steady step, minus what
// it would be if messages and sums took no time. Simulates twice.
[[nodiscard]] double exposed_communication(const Schedule& schedule, const PipelineCosts& costs,
                                           const TransportRules& rules = {});

}  // namespace penstock
