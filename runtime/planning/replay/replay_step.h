// runtime/planning/replay/replay_step.h -- the end of a step of a whole job: every rank of every
// replica, with the network cards that they share.
//
// The rules of simulate() (runtime/planning/schedule/timing/simulate.h) hold here too, and the
// answer is the same where replicas are alike and no card is shared. In addition:
//
//   card       what goes from node to node passes the card of its rank's node out and that of the
//              other's in; what is under way at the same time shares a card, slice by slice
//   sums       a bucket begins when the last of its group has completed it and the bucket before
//              is done; every member moves 2 (D-1)/D of the bytes, and of those the part for
//              members on other nodes passes its card, out and in
//   update     when all gradients of all ranks of the job are there; where replicas share it out,
//              sums move (D-1)/D before it
//   weights    that come late share the cards with what the first forwards send
//
// A discrete-event simulation: ranks run ahead by themselves, but what passes a card waits until
// nothing else can come before it.
#pragma once

#include <cstdint>

#include "runtime/planning/replay/job.h"

namespace penstock {

struct ReplayedStep {
  double step_s = 0;
  double last_compute_s = 0;  // when the last rank has done its last computation
  double busiest_card_s = 0;  // for so long the busiest card was busy, in its busier direction
};

// Throws std::invalid_argument as check_job() does, and for a schedule that gets stuck or was not
// lowered. Takes some 50 ns an instruction and 16 bytes a message.
[[nodiscard]] ReplayedStep replay_step(const Job& job, uint64_t step = 0);

}  // namespace penstock
