#include "runtime/schedule/memory.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "runtime/schedule/edges.h"
#include "runtime/schedule/form.h"

namespace penstock {
namespace {

struct Uses {
  std::vector<bool> recompute, backward;  // by stage
};

Uses uses_of(const Schedule& schedule) {
  Uses uses{std::vector<bool>(schedule.stages, false), std::vector<bool>(schedule.stages, false)};
  for (const auto& program : schedule.program) {
    for (const Instruction& instruction : program) {
      const Op op = instruction.op;
      if (op == Op::Recompute) uses.recompute[instruction.stage] = true;
      if (op == Op::Backward || op == Op::BackwardInput) uses.backward[instruction.stage] = true;
    }
  }
  return uses;
}

void check(const Schedule& schedule, const Uses& uses, std::span<const StageMemory> memory,
           std::span<const int64_t> skip_bytes) {
  if (memory.size() != static_cast<size_t>(schedule.stages)) {
    throw std::invalid_argument("there is the memory of " + std::to_string(memory.size()) +
                                " stages, but the schedule has " + std::to_string(schedule.stages));
  }
  if (!skip_bytes.empty() && skip_bytes.size() != schedule.skips.size()) {
    throw std::invalid_argument("there are the bytes of " + std::to_string(skip_bytes.size()) +
                                " skips, but the schedule has " +
                                std::to_string(schedule.skips.size()));
  }
  for (int stage = 0; stage < schedule.stages; ++stage) {
    if (uses.backward[stage]) continue;
    throw std::invalid_argument("stage " + std::to_string(stage) +
                                " is never differentiated; bytes in use are known for training");
  }
}

class Walk {
 public:
  Walk(const Schedule& schedule, const Uses& uses, std::span<const StageMemory> memory,
       std::span<const int64_t> skip_bytes)
      : schedule_(schedule),
        edges_(schedule),
        uses_(uses),
        memory_(memory),
        skip_bytes_(skip_bytes) {}

  int64_t peak(int rank) {
    const auto& program = schedule_.program[rank];
    coming_.assign(2 * static_cast<size_t>(edges_.count()), 0);
    for (const Instruction& i : program) {
      if (!receives(i.op)) continue;
      if (coming_[inlet_of(i)]++ == 0) add(tuple_bytes(i));
    }
    for (const Instruction& instruction : program) visit(instruction);
    return peak_;
  }

 private:
  static bool receives(Op op) { return op == Op::RecvActivation || op == Op::RecvGradient; }

  void visit(const Instruction& instruction) {
    const Op op = instruction.op;
    if (receives(op)) {
      // The tuple is the buffer that was asked for; asking for the next one takes another.
      if (--coming_[inlet_of(instruction)] > 0) add(tuple_bytes(instruction));
    } else if (is_message(op)) {
      in_use_ -= tuple_bytes(instruction);
    } else if (is_compute(op)) {
      const MemoryStep step = step_of(instruction);
      peak_ = std::max(peak_, in_use_ + step.peak);
      add(step.held);
    }
  }

  void add(int64_t bytes) {
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
  }

  [[nodiscard]] MemoryStep step_of(const Instruction& instruction) const {
    const StageMemory& memory = memory_[instruction.stage];
    switch (instruction.op) {
      case Op::Forward:
        return uses_.recompute[instruction.stage] ? memory.forward : memory.forward_keep;
      case Op::Recompute:
        return memory.recompute;
      case Op::BackwardInput:
        return memory.backward_input;
      case Op::BackwardWeight:
        return memory.backward_weight;
      default:
        return memory.backward;
    }
  }

  [[nodiscard]] int64_t tuple_bytes(const Instruction& message) const {
    const int skip = edges_.of(message) - (schedule_.stages - 1);
    if (skip >= 0) return skip_bytes_.empty() ? 0 : skip_bytes_[skip];
    return memory_[std::max(message.stage, message.peer)].input_bytes;
  }

  // Of a receive: the edge it comes by, from below or from above.
  [[nodiscard]] size_t inlet_of(const Instruction& receive) const {
    return 2 * static_cast<size_t>(edges_.of(receive)) + (receive.op == Op::RecvGradient ? 1 : 0);
  }

  const Schedule& schedule_;
  const Edges edges_;
  const Uses& uses_;
  std::span<const StageMemory> memory_;
  std::span<const int64_t> skip_bytes_;
  std::vector<int> coming_;  // by inlet: messages that have not been received
  int64_t in_use_ = 0, peak_ = 0;
};

}  // namespace

std::vector<int64_t> peak_bytes(const Schedule& lowered, std::span<const StageMemory> memory,
                                std::span<const int64_t> skip_bytes) {
  check_form(lowered);
  const Uses uses = uses_of(lowered);
  check(lowered, uses, memory, skip_bytes);
  std::vector<int64_t> peaks;
  peaks.reserve(lowered.ranks);
  for (int rank = 0; rank < lowered.ranks; ++rank) {
    peaks.push_back(Walk(lowered, uses, memory, skip_bytes).peak(rank));
  }
  return peaks;
}

}  // namespace penstock
