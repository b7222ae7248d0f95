// runtime/planning/schedule/proof/stash.h -- what a rank holds between forward and backward,
// counted along its program. The one walk of that kind: proofs, pictures and plans ask it.
#pragma once

#include <span>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// In micro-batches of one stage.
struct HeldStashes {
  int whole = 0;          // from Forward to Backward or BackwardInput
  int weight_halves = 0;  // what BackwardWeight needs, from BackwardInput on

  bool operator==(const HeldStashes&) const = default;
  // What is held after one more instruction of a training step.
  void after(Op op) {
    whole += op == Op::Forward ? 1 : op == Op::Backward || op == Op::BackwardInput ? -1 : 0;
    weight_halves += op == Op::BackwardInput ? 1 : op == Op::BackwardWeight ? -1 : 0;
  }
};

// Each the most at once, not at one time.
[[nodiscard]] HeldStashes peak_stashes(std::span<const Instruction> program);

// By stage, what is held when the rank that holds the stage first has its most whole stashes.
// O(instructions).
[[nodiscard]] std::vector<HeldStashes> stashes_at_peak(const Schedule& schedule);

}  // namespace penstock
