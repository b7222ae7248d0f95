// runtime/planning/replay/replay_step.h -- replay_step(): how long a step of a whole job takes,
// with every rank of every replica and the network cards that they share.
//
// Follows the rules of simulate() (runtime/planning/schedule/timing/simulate.h), with the same
// answer where replicas are alike and no card is shared. In addition:
//
//   card       a message between nodes leaves by the sender's card and enters by the receiver's;
//              messages that are under way at the same time share a card, slice by slice
//   sums       a bucket begins when all ranks that hold its stage have completed it and the bucket
//              before is done; each of these ranks moves 2 (D-1)/D of the bytes (D replicas), and
//              the part for ranks on other nodes passes its card, out and in
//   update     starts when all gradients of all ranks of the job are there; where replicas share
//              updates out, sums move only (D-1)/D of the bytes before it
//   weights    gathered during the step share the cards with the messages of its first forwards
//
// A discrete-event simulation: each rank runs ahead by itself, but a message passes a card only
// when no earlier one can come any more.
#pragma once

#include <cstdint>

#include "runtime/planning/replay/job.h"

namespace penstock {

struct ReplayedStep {
  double step_s = 0;
  double last_compute_s = 0;  // when the last rank ends its last computation
  double busiest_card_s = 0;  // how long the busiest card was busy, in its busier direction
};

// `step` selects the jitter (Unevenness). Throws std::invalid_argument for a job that check_job()
// refuses, and for a schedule that gets stuck or was not lowered. Takes some 50 ns an instruction
// and 16 bytes a message.
[[nodiscard]] ReplayedStep replay_step(const Job& job, uint64_t step = 0);

}  // namespace penstock
