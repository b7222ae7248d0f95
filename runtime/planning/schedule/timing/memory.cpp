// Bytes along each rank's program.
#include "runtime/planning/schedule/timing/memory.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/planning/schedule/edges.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

struct Uses {
  std::vector<bool> recompute, backward;  // for each stage, whether it has any
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
       std::span<const int64_t> skip_bytes, const TransportRules& rules)
      : schedule_(schedule),
        rules_(rules),
        edges_(schedule),
        uses_(uses),
        memory_(memory),
        skip_bytes_(skip_bytes) {}

  // Returns the peak of a rank. Adds an entry for each instruction to `curve`, unless that is null.
  int64_t along(int rank, std::vector<BytesInUse>* curve) {
    const auto& program = schedule_.program[rank];
    in_use_ = 0;
    coming_.assign(2 * static_cast<size_t>(edges_.count()), 0);
    outlets_.assign(coming_.size(), {});
    for (const Instruction& i : program) {
      if (!receives(i.op)) continue;
      if (coming_[directed_edge(edges_, i)]++ == 0) in_use_ += tuple_bytes(i);
    }
    if (curve != nullptr) curve->reserve(program.size());
    int64_t most = in_use_;
    for (const Instruction& instruction : program) {
      peak_ = in_use_;
      visit(instruction);
      most = std::max(most, peak_);
      if (curve != nullptr) curve->push_back({peak_, in_use_});
    }
    return most;
  }

 private:
  static bool receives(Op op) { return op == Op::RecvActivation || op == Op::RecvGradient; }

  void visit(const Instruction& instruction) {
    const Op op = instruction.op;
    if (receives(op)) {
      // The tensors arrive in the buffer that was asked for. If more messages are to come on this
      // edge, another buffer is asked for at once.
      if (--coming_[directed_edge(edges_, instruction)] > 0) add(tuple_bytes(instruction));
    } else if (is_send(op)) {
      send(instruction);
    } else if (op == Op::OptimizerStep) {
      hand_over();
    } else if (is_compute(op)) {
      const MemoryStep step = step_of(instruction);
      peak_ = std::max(peak_, in_use_ + step.peak);
      add(step.held);
    }
  }

  // Keeps the message on its link. If the window is full, the oldest message leaves the link, and
  // the new message takes its place.
  void send(const Instruction& message) {
    Outlet& outlet = outlets_[directed_edge(edges_, message)];
    outlet.bytes = tuple_bytes(message);
    if (outlet.held < rules_.window) {
      ++outlet.held;
    } else {
      in_use_ -= outlet.bytes;
    }
  }
  void hand_over() {
    for (Outlet& outlet : outlets_) in_use_ -= std::exchange(outlet.held, 0) * outlet.bytes;
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

  // This is a directed edge that leaves this rank: how many messages its link holds, and how large
  // each is.
  struct Outlet {
    int held = 0;
    int64_t bytes = 0;
  };

  const Schedule& schedule_;
  const TransportRules rules_;
  const Edges edges_;
  const Uses& uses_;
  std::span<const StageMemory> memory_;
  std::span<const int64_t> skip_bytes_;
  std::vector<int> coming_;      // messages not received so far, by directed edge
  std::vector<Outlet> outlets_;  // by directed edge
  int64_t in_use_ = 0;
  int64_t peak_ = 0;  // within the instruction that is visited
};

}  // namespace

namespace {

// Returns the most bytes in use on each rank. Fills `curve`, unless that is null.
std::vector<int64_t> walk_all(const Schedule& lowered, std::span<const StageMemory> memory,
                              std::span<const int64_t> skip_bytes, const TransportRules& rules,
                              ByteCurve* curve) {
  check_well_formed(lowered);
  const Uses uses = uses_of(lowered);
  check(lowered, uses, memory, skip_bytes);
  Walk walk(lowered, uses, memory, skip_bytes, rules);
  std::vector<int64_t> peaks;
  peaks.reserve(lowered.ranks);
  for (int rank = 0; rank < lowered.ranks; ++rank) {
    peaks.push_back(walk.along(rank, curve != nullptr ? &curve->emplace_back() : nullptr));
  }
  return peaks;
}

}  // namespace

ByteCurve byte_curve(const Schedule& lowered, std::span<const StageMemory> memory,
                     std::span<const int64_t> skip_bytes, const TransportRules& rules) {
  ByteCurve curve;
  curve.reserve(lowered.ranks);
  (void)walk_all(lowered, memory, skip_bytes, rules, &curve);
  return curve;
}

std::vector<int64_t> peak_bytes(const ByteCurve& curve) {
  std::vector<int64_t> peaks;
  for (const auto& rank : curve) {
    int64_t most = 0;
    for (const BytesInUse& bytes : rank) most = std::max(most, bytes.peak);
    peaks.push_back(most);
  }
  return peaks;
}

std::vector<int64_t> peak_bytes(const Schedule& lowered, std::span<const StageMemory> memory,
                                std::span<const int64_t> skip_bytes, const TransportRules& rules) {
  return walk_all(lowered, memory, skip_bytes, rules, nullptr);
}

}  // namespace penstock
