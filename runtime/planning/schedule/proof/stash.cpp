// Peaks of what ranks hold between forward and backward.
#include "runtime/planning/schedule/proof/stash.h"

#include <algorithm>

namespace penstock {

HeldStashes peak_stashes(std::span<const Instruction> program) {
  HeldStashes held;
  HeldStashes most;
  for (const Instruction& instruction : program) {
    held.after(instruction.op);
    most.whole = std::max(most.whole, held.whole);
    most.weight_halves = std::max(most.weight_halves, held.weight_halves);
  }
  return most;
}

std::vector<HeldStashes> stashes_at_peak(const Schedule& schedule) {
  std::vector<HeldStashes> of_stage(schedule.stages);
  for (const auto& program : schedule.program) {
    HeldStashes held;
    int most = 0;
    size_t end = 0;  // end of the part up to the peak
    for (size_t i = 0; i < program.size(); ++i) {
      held.after(program[i].op);
      if (held.whole <= most) continue;
      most = held.whole;
      end = i + 1;
    }
    for (size_t i = 0; i < end; ++i) {
      if (is_compute(program[i].op)) of_stage[program[i].stage].after(program[i].op);
    }
  }
  return of_stage;
}

}  // namespace penstock
