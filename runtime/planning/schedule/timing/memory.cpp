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

void check_lists(const Schedule& schedule, std::span<const StageMemory> memory,
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
}

void check_trains(const Schedule& schedule, const Uses& uses) {
  for (int stage = 0; stage < schedule.stages; ++stage) {
    if (uses.backward[stage]) continue;
    throw std::invalid_argument("stage " + std::to_string(stage) +
                                " is never differentiated; bytes in use are known for training");
  }
}

// The places of each message in the programs of its two ranks; empty unless links hold what they
// sent.
class MessagePlaces {
 public:
  MessagePlaces(const Schedule& schedule, const Edges& edges, bool wanted)
      : micro_batches_(static_cast<size_t>(schedule.micro_batches)) {
    if (!wanted) return;
    sent_.resize(2 * static_cast<size_t>(edges.count()) * micro_batches_);
    received_.resize(sent_.size());
    for (const auto& program : schedule.program) {
      for (size_t i = 0; i < program.size(); ++i) {
        if (!is_message(program[i].op)) continue;
        const size_t message = number(directed_edge(edges, program[i]), program[i].micro_batch);
        (is_send(program[i].op) ? sent_ : received_)[message] = static_cast<int>(i);
      }
    }
  }
  [[nodiscard]] int sent(size_t edge, int micro_batch) const {
    return sent_[number(edge, micro_batch)];
  }
  [[nodiscard]] int received(size_t edge, int micro_batch) const {
    return received_[number(edge, micro_batch)];
  }

 private:
  [[nodiscard]] size_t number(size_t edge, int micro_batch) const {
    return edge * micro_batches_ + static_cast<size_t>(micro_batch);
  }
  size_t micro_batches_;
  std::vector<int> sent_, received_;  // indices in the programs of sender and receiver
};

class Walk {
 public:
  Walk(const Schedule& schedule, const Uses& uses, std::span<const StageMemory> memory,
       std::span<const int64_t> skip_bytes, const TransportRules& rules)
      : schedule_(schedule),
        rules_(rules),
        edges_(schedule),
        places_(schedule, edges_, rules.holds_sent),
        uses_(uses),
        memory_(memory),
        skip_bytes_(skip_bytes),
        passages_(2 * static_cast<size_t>(edges_.count())) {}

  // Returns the peak of a rank. Adds an entry for each instruction to `curve`, unless that is null.
  int64_t along(int rank, std::vector<BytesInUse>* curve) {
    const auto& program = schedule_.program[rank];
    in_use_ = 0;
    audit_peak_ = 0;
    for (int s = 0; s < schedule_.stages; ++s) {
      if (schedule_.rank_of_stage[s] != rank) continue;
      audit_peak_ = std::max(audit_peak_, memory_[s].audit_peak);
    }
    used_.clear();
    for (const Instruction& i : program) {
      if (!is_message(i.op)) continue;
      const size_t edge = directed_edge(edges_, i);
      Passage& passage = passages_[edge];
      if (passage.peer < 0) {
        used_.push_back(edge);
        passage = {.peer = schedule_.rank_of_stage[i.peer], .bytes = tuple_bytes(i)};
      }
      if (receives(i.op) && passage.coming++ == 0) in_use_ += passage.bytes;
    }
    if (curve != nullptr) curve->reserve(program.size());
    int64_t most = in_use_;
    for (const Instruction& instruction : program) {
      peak_ = in_use_;
      visit(instruction);
      most = std::max(most, peak_);
      if (curve != nullptr) curve->push_back({peak_, in_use_});
    }
    for (const size_t edge : used_) passages_[edge] = {};
    return most;
  }

 private:
  static bool receives(Op op) { return op == Op::RecvActivation || op == Op::RecvGradient; }

  void visit(const Instruction& instruction) {
    const Op op = instruction.op;
    if (receives(op)) {
      receive(instruction);
    } else if (is_send(op)) {
      send(instruction);
    } else if (op == Op::OptimizerStep) {
      hand_over();
    } else if (op == Op::Audit) {
      peak_ = std::max(peak_, in_use_ + audit_peak_);
    } else if (is_compute(op)) {
      const MemoryStep step = step_of(instruction);
      peak_ = std::max(peak_, in_use_ + step.peak);
      add(step.held);
    }
  }

  // Takes the tuple in the buffer that was asked for. If more messages are to come on this edge,
  // another buffer is asked for at once.
  void receive(const Instruction& message) {
    const size_t edge = directed_edge(edges_, message);
    Passage& passage = passages_[edge];
    if (rules_.holds_sent) release_taken(passage.peer, places_.sent(edge, message.micro_batch));
    if (--passage.coming > 0) add(passage.bytes);
  }

  // Keeps the message on its link. If there is a window and it is full, the oldest message leaves
  // the link, and the new message takes its place.
  void send(const Instruction& message) {
    const size_t edge = directed_edge(edges_, message);
    Passage& passage = passages_[edge];
    if (rules_.holds_sent) {
      passage.taken_at.push_back(places_.received(edge, message.micro_batch));
      ++passage.held;
    } else if (passage.held < rules_.window) {
      ++passage.held;
    } else {
      in_use_ -= passage.bytes;
    }
  }

  // Frees what that rank has taken before it came to the instruction `index` of its program.
  void release_taken(int peer, int index) {
    for (const size_t edge : used_) {
      Passage& passage = passages_[edge];
      if (passage.peer != peer) continue;
      while (passage.held > 0) {
        const size_t oldest = passage.taken_at.size() - static_cast<size_t>(passage.held);
        if (passage.taken_at[oldest] > index) break;
        in_use_ -= passage.bytes;
        --passage.held;
      }
    }
  }

  void hand_over() {
    for (const size_t edge : used_) {
      in_use_ -= std::exchange(passages_[edge].held, 0) * passages_[edge].bytes;
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

  // This is a directed edge, as the rank at one of its ends sees it.
  struct Passage {
    int peer = -1;                   // the rank at the other end; -1: no message of this rank
    int64_t bytes = 0;               // of a message
    int coming = 0;                  // messages that have not been received
    int held = 0;                    // messages that were sent and are held by the link
    std::vector<int> taken_at = {};  // of those sent: where they are received in peer's program
  };

  const Schedule& schedule_;
  const TransportRules rules_;
  const Edges edges_;
  const MessagePlaces places_;
  const Uses& uses_;
  std::span<const StageMemory> memory_;
  std::span<const int64_t> skip_bytes_;
  std::vector<Passage> passages_;  // by directed edge
  std::vector<size_t> used_;       // the directed edges that begin or end on this rank
  int64_t audit_peak_ = 0;         // of the rank's stages
  int64_t in_use_ = 0;
  int64_t peak_ = 0;  // within the instruction that is visited
};

}  // namespace

namespace {

// Returns the most bytes in use on each rank. Fills `curve`, unless that is null.
std::vector<int64_t> walk_all(const Schedule& lowered, std::span<const StageMemory> memory,
                              std::span<const int64_t> skip_bytes, const TransportRules& rules,
                              ByteCurve* curve, bool trains = true) {
  check_well_formed(lowered);
  check_lists(lowered, memory, skip_bytes);
  const Uses uses = uses_of(lowered);
  if (trains) check_trains(lowered, uses);
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

std::vector<int64_t> forward_peak_bytes(const Schedule& lowered,
                                        std::span<const StageMemory> memory,
                                        std::span<const int64_t> skip_bytes,
                                        const TransportRules& rules) {
  return walk_all(lowered, memory, skip_bytes, rules, nullptr, false);
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
