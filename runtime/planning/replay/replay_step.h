// runtime/planning/replay/replay_step.h -- replay_step(): simulates one training step of a whole
// job, with every rank of every replica and the network cards that ranks of a node share.
//
// It follows the rules of simulate() (runtime/planning/schedule/timing/simulate.h), which knows one
// pipeline only, and gives the same answer where replicas are alike and no card is shared. In
// addition (D is the number of replicas):
//
//   card       a message between nodes leaves through the sender's card and enters through the
//              receiver's; messages that are under way at the same time share a card by taking
//              turns, slice by slice
//   sums       the sum of a bucket (gradients of neighbouring layers) begins when all ranks that
//              hold its stage have completed it and the bucket before is done; each of these ranks
//              sends and receives 2 (D-1)/D of its bytes, and the part for ranks on other nodes
//              passes its card, out and in
//   update     starts when all gradients of all ranks of the job are there; where replicas share
//              updates (PipelineCosts::updates_are_shared), sums move only (D-1)/D before it
//   weights    that are exchanged while the next step runs share the cards with the messages of
//              its first forwards
//
// An update always waits for all ranks: a job without a barrier (PipelineCosts::barrier) is
// refused. Audit instructions take no time. step_walk.h describes how the simulation works.
#pragma once

#include <cstdint>

#include "runtime/planning/replay/job.h"

namespace penstock {

struct ReplayedStep {
  double step_s = 0;          // from the beginning of the step to its end on the last rank
  double last_compute_s = 0;  // when the last forward or backward of any rank ends
  double busiest_card_s = 0;  // how long a card was busy in one direction: the most of all cards
};

// `step` is the number of the step: steps of one job differ in their random jitter (Unevenness,
// job.h). Throws std::invalid_argument for a job that check_job() refuses, and for a schedule that
// deadlocks or has no messages. Takes about 50 ns per instruction and 16 bytes per message of the
// distinct replicas (Job::distinct_replicas()).
[[nodiscard]] ReplayedStep replay_step(const Job& job, uint64_t step = 0);

}  // namespace penstock
