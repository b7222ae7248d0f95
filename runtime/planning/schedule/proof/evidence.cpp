// The places of instructions, and how the checks of verify() refuse.
#include "runtime/planning/schedule/proof/evidence.h"

#include <stdexcept>

#include "runtime/planning/schedule/well_formed.h"

namespace penstock {

Positions::Positions(const Schedule& schedule)
    : edges_(schedule), stages_(schedule.stages), micro_batches_(schedule.micro_batches) {
  constexpr size_t kComputeOps = static_cast<size_t>(Op::Backward) + 1;
  constexpr size_t kMessageOps = static_cast<size_t>(Op::RecvGradient) + 1 - kComputeOps;
  table_.assign((kComputeOps * stages_ + kMessageOps * edges_.count()) * micro_batches_, kAbsent);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      seen_[static_cast<size_t>(program[i].op)] = true;
      if (program[i].micro_batch < 0) continue;  // check_step_end() looks at these
      int& position = table_[slot(program[i])];
      if (position != kAbsent) {
        refuse_schedule(where(schedule, rank, i) + " is there twice, first as instruction " +
                        std::to_string(position + 1));
      }
      position = i;
    }
  }
}

Instruction Evidence::input_gradient(int stage, int micro_batch) const {
  const Instruction whole{Op::Backward, stage, micro_batch};
  return positions.has(whole) ? whole : Instruction{Op::BackwardInput, stage, micro_batch};
}

Instruction Evidence::weight_gradient(int stage, int micro_batch) const {
  const Instruction whole{Op::Backward, stage, micro_batch};
  return positions.has(whole) ? whole : Instruction{Op::BackwardWeight, stage, micro_batch};
}

std::string Evidence::where(const Instruction& instruction) const {
  return penstock::where(schedule, rank_of(instruction.stage), positions.of(instruction));
}

void refuse_schedule(const std::string& message) {
  throw std::invalid_argument("bad schedule: " + message);
}

void require_order(const Evidence& e, const Instruction& first, const Instruction& second) {
  if (e.positions.of(first) < e.positions.of(second)) return;
  refuse_schedule(e.where(second) + " comes before " + e.where(first) + ", which it needs");
}

void refuse_missing(const Evidence& e, const Instruction& missing, const std::string& why) {
  refuse_schedule("rank " + std::to_string(e.rank_of(missing.stage)) + " lacks " + text(missing) +
                  ": " + why);
}

}  // namespace penstock
