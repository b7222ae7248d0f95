// runtime/engine/training/step_vote.h -- what ranks agree on once a step, about what is done after
// it.
//
// The votes travel in the sums of the loss, which every step has anyway: no message more. A thing
// is done when any rank votes for it, so one rank may decide for all, and a signal may reach any.
#pragma once

#include <array>
#include <functional>

namespace penstock {

struct StepVote {
  bool stop = false;        // after this step: a checkpoint, and the end
  bool checkpoint = false;  // one is due by time
  bool writing = false;     // a rank still has something to write of the one under way
  bool refuse = false;      // this step's update: the gradient is not finite
  bool copying = false;     // a copy to a partner's memory is not whole there
  bool disputed = false;    // an audit has met other bits than another replica's rank,
  bool computed = false;    // or in what a micro-batch made here,
  bool kept = false;        // or in what is kept from step to step
};

// Asked once a step on every rank, as late as can be: after the last gradient.
using AskVote = std::function<StepVote()>;

// A vote as numbers that are summed over the ranks, and back.
using VoteNumbers = std::array<double, 8>;
[[nodiscard]] inline VoteNumbers numbers_of(const StepVote& vote) {
  const auto number = [](bool voted) { return voted ? 1.0 : 0.0; };
  return {number(vote.stop),    number(vote.checkpoint), number(vote.writing),  number(vote.refuse),
          number(vote.copying), number(vote.disputed),   number(vote.computed), number(vote.kept)};
}
[[nodiscard]] inline StepVote vote_of(const VoteNumbers& sums) {
  return {.stop = sums[0] > 0.0,
          .checkpoint = sums[1] > 0.0,
          .writing = sums[2] > 0.0,
          .refuse = sums[3] > 0.0,
          .copying = sums[4] > 0.0,
          .disputed = sums[5] > 0.0,
          .computed = sums[6] > 0.0,
          .kept = sums[7] > 0.0};
}

}  // namespace penstock
