// runtime/planning/schedule/proof/stash.h -- the stashes that a rank holds between forward and
// backward, counted along its program, for proofs, pictures and plans.
#pragma once

#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The stashes held at one moment; one is one micro-batch of one stage.
struct HeldStashes {
  int whole = 0;          // from Forward to Backward or BackwardInput
  int weight_halves = 0;  // needed by BackwardWeight, from BackwardInput on

  bool operator==(const HeldStashes&) const = default;
  // Updates the counts after one more instruction of a training step.
  void after(Op op) {
    whole += op == Op::Forward ? 1 : op == Op::Backward || op == Op::BackwardInput ? -1 : 0;
    weight_halves += op == Op::BackwardInput ? 1 : op == Op::BackwardWeight ? -1 : 0;
  }
};

// The peaks of both counts over a rank's program, which need not come at the same time.
[[nodiscard]] HeldStashes peak_stashes(std::span<const Instruction> program);

// The stashes of each stage at the first moment at which its rank holds the most whole stashes.
// O(instructions).
[[nodiscard]] std::vector<HeldStashes> stashes_at_peak(const Schedule& schedule);

}  // namespace penstock
