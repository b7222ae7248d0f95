// runtime/training/step_vote.h -- what ranks agree on once a step, about what is done after it.
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
  bool writing = false;     // of the one under way a rank has something to write still
  bool refuse = false;      // this step's update: the gradient is not finite
  bool copying = false;     // a copy to a partner's memory is not whole there
};

// Asked once a step on every rank, as late as can be: after the last gradient.
using AskVote = std::function<StepVote()>;

// As numbers to be summed over the ranks, and back.
using VoteNumbers = std::array<double, 5>;
[[nodiscard]] inline VoteNumbers numbers_of(const StepVote& vote) {
  return {vote.stop ? 1.0 : 0.0, vote.checkpoint ? 1.0 : 0.0, vote.writing ? 1.0 : 0.0,
          vote.refuse ? 1.0 : 0.0, vote.copying ? 1.0 : 0.0};
}
[[nodiscard]] inline StepVote vote_of(const VoteNumbers& sums) {
  return {.stop = sums[0] > 0.0,
          .checkpoint = sums[1] > 0.0,
          .writing = sums[2] > 0.0,
          .refuse = sums[3] > 0.0,
          .copying = sums[4] > 0.0};
}

}  // namespace penstock
