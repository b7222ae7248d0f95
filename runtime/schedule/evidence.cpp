#include "runtime/schedule/evidence.h"

#include <stdexcept>

#include "runtime/schedule/form.h"

namespace penstock {

Positions::Positions(const Schedule& schedule)
    : stages_(schedule.stages),
      micro_batches_(schedule.micro_batches),
      table_(kPerMicroBatch * stages_ * micro_batches_, kAbsent) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      seen_[static_cast<size_t>(program[i].op)] = true;
      if (program[i].micro_batch < 0) continue;  // check_step_end() looks at these
      int& position = table_[slot(program[i].op, program[i].stage, program[i].micro_batch)];
      if (position != kAbsent) {
        refuse_schedule(where(schedule, rank, i) + " is there twice, first as instruction " +
                        std::to_string(position + 1));
      }
      position = i;
    }
  }
}

std::string Evidence::where(const Instruction& instruction) const {
  return penstock::where(schedule, rank_of(instruction.stage), positions.of(instruction));
}

void refuse_schedule(const std::string& message) {
  throw std::invalid_argument("bad schedule: " + message);
}

void refuse_missing(const Evidence& e, const Instruction& missing, const std::string& why) {
  refuse_schedule("rank " + std::to_string(e.rank_of(missing.stage)) + " lacks " + text(missing) +
                  ": " + why);
}

}  // namespace penstock
