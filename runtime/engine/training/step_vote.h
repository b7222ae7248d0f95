// runtime/engine/training/step_vote.h -- StepVote: by which all ranks agree, once a step, on what
// is done after it.
//
// The votes travel in the sums of the loss, which every step has anyway, so they cost no message. A
// thing is done when any rank votes for it: one rank may decide for all, and a signal may reach any
// rank.
#pragma once

#include <array>
#include <functional>

namespace penstock {

struct StepVote {
  bool stop = false;        // after this step: a checkpoint, and the end
  bool checkpoint = false;  // a checkpoint is due by time
  bool writing = false;     // a rank still writes the checkpoint that is under way
  bool refuse = false;      // this step's update is not made: the gradient is not finite
  bool copying = false;     // a copy in this host's or a partner's memory is not whole yet
  bool disputed = false;    // an audit has found Doubt::Disputed
  bool computed = false;    // an audit has found Doubt::Computed
  bool kept = false;        // an audit has found Doubt::Kept
};

// Gives this rank's vote. Called once a step on every rank, after the last gradient.
using AskVote = std::function<StepVote()>;

// A vote as numbers, 1 for each member that is true; and the vote of all ranks from their sums.
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
