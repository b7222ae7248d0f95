// runtime/engine/training/step_vote.h -- StepVote: how all ranks agree, once a step, on what is
// done after it: stop, begin a checkpoint, leave the step out, and so on.
//
// Each rank gives its own vote, and a thing is done when any rank votes for it: a signal may reach
// any one of them, and only rank 0 looks at the clock. The votes are added up together with the
// loss of the step, whose sum over ranks is needed anyway, so they cost no message.
#pragma once

#include <array>
#include <functional>

namespace penstock {

struct StepVote {
  bool stop = false;        // end the run after this step, with a checkpoint
  bool checkpoint = false;  // a checkpoint is due by time
  bool writing = false;     // a thread of this rank still writes the checkpoint that is under way
  bool refuse = false;      // leave this step out: the gradient is not finite
  bool copying = false;     // a copy in this host's or a partner's memory is not whole yet
  bool disputed = false;    // the audit has found Doubt::Disputed (audit/step_audit.h)
  bool computed = false;    // the audit has found Doubt::Computed
  bool kept = false;        // the audit has found Doubt::Kept
  bool replan = false;      // the layers are to be split in another way (replan/)
};

// Gives this rank's vote. Called once a step on every rank, after the last gradient is complete.
using AskVote = std::function<StepVote()>;

// A vote as numbers, 1 for each member that is true, in their order, so that votes can be added up.
using VoteNumbers = std::array<double, 9>;
[[nodiscard]] inline VoteNumbers numbers_of(const StepVote& vote) {
  const auto number = [](bool voted) { return voted ? 1.0 : 0.0; };
  return {number(vote.stop),     number(vote.checkpoint), number(vote.writing),
          number(vote.refuse),   number(vote.copying),    number(vote.disputed),
          number(vote.computed), number(vote.kept),       number(vote.replan)};
}
// The vote of all ranks, from the sums of their numbers.
[[nodiscard]] inline StepVote vote_of(const VoteNumbers& sums) {
  return {.stop = sums[0] > 0.0,
          .checkpoint = sums[1] > 0.0,
          .writing = sums[2] > 0.0,
          .refuse = sums[3] > 0.0,
          .copying = sums[4] > 0.0,
          .disputed = sums[5] > 0.0,
          .computed = sums[6] > 0.0,
          .kept = sums[7] > 0.0,
          .replan = sums[8] > 0.0};
}

}  // namespace penstock
