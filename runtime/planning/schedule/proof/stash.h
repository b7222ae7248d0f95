// runtime/planning/schedule/proof/stash.h -- the stashes that a rank holds between forward and
// backward, counted along its program. The one walk of that kind: proofs, pictures and plans ask
// it.
#pragma once

#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Stashes held, in micro-batches of one stage.
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

// The peaks of both counts, which need not come at the same time.
[[nodiscard]] HeldStashes peak_stashes(std::span<const Instruction> program);

// The stashes of each stage when the rank that holds it first has its most whole stashes.
// O(instructions).
[[nodiscard]] std::vector<HeldStashes> stashes_at_peak(const Schedule& schedule);

}  // namespace penstock
