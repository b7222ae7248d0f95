#include "tests/unit/planning/schedule/transport_model.h"

#include <map>
#include <utility>
#include <vector>

namespace penstock {
namespace {

// One directed edge. Points are entries of the stream that computes, counted from its beginning.
struct Wire {
  size_t sender = 0, receiver = 0;  // ranks
  std::vector<size_t> made;         // by message sent: the sender's point after which it leaves
  std::vector<size_t> free;         // by receive issued: the receiver's point after which it may
  size_t expected_at = 0;           // the receiver's point for the next receive
  size_t released = 0;              // messages that the sender's device waits for, or need not
  size_t passed = 0;                // messages that have been received
};

// A device waits until message `number` of the wire has been received; computes where it is null.
struct Entry {
  const Wire* wire = nullptr;
  size_t number = 0;
};

struct Rank {
  size_t next = 0;     // instruction of the host
  int exchanged = 0;   // exchanges of that instruction which have begun
  bool reads = false;  // the host waits for its device
  std::vector<Entry> stream;
  size_t computed = 0;  // entries
};

class TransportModel {
 public:
  TransportModel(const Schedule& schedule, const ModelRules& rules)
      : schedule_(schedule), rules_(rules), ranks_(static_cast<size_t>(schedule.ranks)) {}

  bool reaches_the_end() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r) moved = (issue(r) | compute(ranks_[r])) || moved;
      for (auto& [ends, wire] : wires_) moved = pass(wire) || moved;
    }
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].next < schedule_.program[r].size()) return false;
      if (ranks_[r].computed < ranks_[r].stream.size()) return false;
    }
    return true;
  }

 private:
  static bool compute(Rank& rank) {
    const size_t first = rank.computed;
    while (rank.computed < rank.stream.size()) {
      const Entry& entry = rank.stream[rank.computed];
      if (entry.wire != nullptr && entry.wire->passed <= entry.number) break;
      ++rank.computed;
    }
    return rank.computed > first;
  }

  // Messages of a wire follow one another, at both ends.
  bool pass(Wire& wire) {
    const size_t first = wire.passed;
    while (wire.passed < wire.made.size() && wire.passed < wire.free.size() &&
           ranks_[wire.sender].computed >= wire.made[wire.passed] &&
           ranks_[wire.receiver].computed >= wire.free[wire.passed]) {
      ++wire.passed;
    }
    return wire.passed > first;
  }

  // The host's instructions, as far as it gets.
  bool issue(size_t r) {
    Rank& rank = ranks_[r];
    const auto& program = schedule_.program[r];
    bool moved = false;
    while (rank.next < program.size()) {
      const size_t ahead = rank.stream.size() - rank.computed;
      if (ahead >= static_cast<size_t>(rules_.lead) || (rank.reads && ahead > 0)) break;
      moved = true;
      if (do_some(r, program[rank.next])) {
        ++rank.next;
        rank.exchanged = 0;
      }
    }
    return moved;
  }

  // A part of an instruction; true when it was the last.
  bool do_some(size_t r, const Instruction& instruction) {
    Rank& rank = ranks_[r];
    const auto [op, stage, micro_batch, peer] = instruction;
    if (op == Op::SendActivation || op == Op::SendGradient) {
      Wire& wire = wire_between(stage, peer);
      if (wire.made.size() - wire.released == static_cast<size_t>(rules_.window)) {
        wait_for_oldest(rank, wire);
      }
      wire.made.push_back(rank.stream.size());
    } else if (op == Op::RecvActivation || op == Op::RecvGradient) {
      Wire& wire = wire_between(peer, stage);
      wire.free.push_back(wire.expected_at);
      rank.stream.push_back({&wire, wire.free.size() - 1});
      wire.expected_at = rank.stream.size();
    } else if (op == Op::OptimizerStep) {
      wait_for_all(r);
    } else if (is_compute(op)) {
      return compute_some(r);
    }
    return true;
  }

  bool compute_some(size_t r) {
    Rank& rank = ranks_[r];
    if (std::exchange(rank.reads, false) && rules_.exchange_waits_for_sends) wait_for_all(r);
    rank.stream.emplace_back();
    if (rank.exchanged == rules_.exchanges) return true;
    ++rank.exchanged;
    rank.reads = true;
    return false;
  }

  static void wait_for_oldest(Rank& rank, Wire& wire) {
    rank.stream.push_back({&wire, wire.released++});
  }
  void wait_for_all(size_t r) {
    for (auto& [ends, wire] : wires_) {
      while (wire.sender == r && wire.released < wire.made.size()) {
        wait_for_oldest(ranks_[r], wire);
      }
    }
  }

  Wire& wire_between(int from, int to) {
    Wire& wire = wires_[{from, to}];
    wire.sender = static_cast<size_t>(schedule_.rank_of_stage[static_cast<size_t>(from)]);
    wire.receiver = static_cast<size_t>(schedule_.rank_of_stage[static_cast<size_t>(to)]);
    return wire;
  }

  const Schedule& schedule_;
  const ModelRules& rules_;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, Wire> wires_;  // by stages; entries stay where they are
};

}  // namespace

bool reaches_the_end(const Schedule& lowered, const ModelRules& rules) {
  return TransportModel(lowered, rules).reaches_the_end();
}

}  // namespace penstock
