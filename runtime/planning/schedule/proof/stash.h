// runtime/planning/schedule/proof/stash.h -- counts how many stashes (saved activations of one
// micro-batch in one stage) a rank holds as its program runs.
//
// A Forward keeps a stash until the backward of the same micro-batch. Where a backward runs as two
// halves, the input half replaces the stash by what the weight half still needs. verify() reports
// the peaks, `penstock schedule` draws the counts over time, and planning turns them into bytes.
#pragma once

#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// How many stashes are held at one moment. Each is of one micro-batch in one stage.
struct HeldStashes {
  int whole = 0;          // held from a Forward to its Backward or BackwardInput
  int weight_halves = 0;  // held from a BackwardInput to its BackwardWeight

  bool operator==(const HeldStashes&) const = default;
  // Updates the counts for one more instruction, which has run. Begins from zero in each step.
  void after(Op op) {
    whole += op == Op::Forward ? 1 : op == Op::Backward || op == Op::BackwardInput ? -1 : 0;
    weight_halves += op == Op::BackwardInput ? 1 : op == Op::BackwardWeight ? -1 : 0;
  }
};

// The largest value of each of the two counts over one rank's training program. The two peaks need
// not come at the same moment.
[[nodiscard]] HeldStashes peak_stashes(std::span<const Instruction> program);

// One per stage: how many stashes of this stage its rank holds at the first moment at which that
// rank holds the most whole stashes (of all its stages together). O(instructions).
[[nodiscard]] std::vector<HeldStashes> stashes_at_peak(const Schedule& schedule);

}  // namespace penstock
