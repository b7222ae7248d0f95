// tests/unit/planning/schedule/slow_machine.h -- SlowMachine: executes a schedule by the meaning of
// its instructions, plainly and slowly, as a second opinion on what the verifier says.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Tensors are facts in a set, edges are queues. Any rank that can execute its next instruction does
// so; nothing is worked out in advance. The schedule must be well-formed (well_formed.h).
class SlowMachine {
 public:
  explicit SlowMachine(const Schedule& schedule) : s_(schedule), next_(schedule.ranks, 0) {
    for (const auto& program : s_.program) {
      for (const Instruction& i : program) reduces_ = reduces_ || i.op == Op::ReduceGradients;
    }
  }

  // Whether every rank gets to the end of its program, no message is left, and all was computed in
  // order.
  bool succeeds() {
    for (bool moved = true; moved && sound_;) {
      moved = false;
      for (int rank = 0; rank < s_.ranks; ++rank) {
        while (sound_ && next_[rank] < s_.program[rank].size() && step(rank)) moved = true;
      }
    }
    return sound_ && everything_is_done();
  }

 private:
  using Fact = std::tuple<std::string, int, int>;

  bool knows(const std::string& what, int stage, int j) const {
    return facts_.count({what, stage, j}) > 0;
  }
  void expect(bool condition) { sound_ = sound_ && condition; }
  void learn(const std::string& what, int stage, int j) {
    expect(facts_.insert({what, stage, j}).second);
  }
  void ascend(const std::string& what, int stage, int j) { expect(count_[{what, stage}]++ == j); }

  // False if the instruction has to wait.
  bool step(int rank) {
    const Instruction& i = s_.program[rank][next_[rank]];
    if (i.op == Op::RecvActivation && !receive("activation", i)) return false;
    if (i.op == Op::RecvGradient && !receive("gradient", i)) return false;
    compute(i);
    if (i.op == Op::SendActivation) send("activation", "output", i);
    if (i.op == Op::SendGradient) send("gradient", "input gradient", i);
    if (i.op == Op::ReduceGradients) {
      expect((count_[{"weight gradient", i.stage}]) == s_.micro_batches - 1);
      learn("reduced", i.stage, 0);
    }
    ++next_[rank];
    if (i.op == Op::OptimizerStep) expect(next_[rank] == s_.program[rank].size());
    return true;
  }

  // The name of a fact about a message, which includes the stage at its other end.
  static std::string over(const std::string& what, int peer) {
    return what + " " + std::to_string(peer);
  }

  bool receive(const std::string& what, const Instruction& i) {
    auto& queue = queues_[{over(what, i.stage), i.peer}];
    if (queue.empty()) return false;
    expect(queue.front() == i.micro_batch);
    queue.pop_front();
    learn(over("received " + what, i.peer), i.stage, i.micro_batch);
    return true;
  }

  void send(const std::string& what, const std::string& tensor, const Instruction& i) {
    expect(knows(tensor, i.stage, i.micro_batch));
    learn(over("sent " + what, i.peer), i.stage, i.micro_batch);
    queues_[{over(what, i.peer), i.stage}].push_back(i.micro_batch);
  }

  // All pairs of stages of which the first hands tensors to the second.
  std::vector<Skip> edges() const {
    std::vector<Skip> all = s_.skips;
    for (int stage = 1; stage < s_.stages; ++stage) all.push_back({stage - 1, stage});
    return all;
  }

  // Whether `stage` has what the stage at the other end made, received or on the same rank.
  bool has_from(int peer, int stage, const std::string& tensor, const std::string& message, int j) {
    const bool here = s_.rank_of_stage[stage] == s_.rank_of_stage[peer];
    return here ? knows(tensor, peer, j) : knows(over("received " + message, peer), stage, j);
  }

  void compute(const Instruction& i) {
    const auto [op, stage, j, peer] = i;
    if (op == Op::Forward) {
      for (const auto& [from, to] : edges()) {
        expect(to != stage || has_from(from, stage, "output", "activation", j));
      }
      learn("output", stage, j);
      ascend("output", stage, j);
    }
    if (op == Op::Recompute) {
      expect(knows("output", stage, j) && !knows("input gradient", stage, j));
      learn("recomputed", stage, j);
    }
    if (op == Op::Backward || op == Op::BackwardInput) {
      expect(knows("output", stage, j));
      for (const auto& [from, to] : edges()) {
        expect(from != stage || has_from(to, stage, "input gradient", "gradient", j));
      }
      learn("input gradient", stage, j);
      ascend("input gradient", stage, j);
    }
    if (op == Op::Backward || op == Op::BackwardWeight) {
      expect(knows("input gradient", stage, j));
      expect(j < s_.micro_batches - 1 || !reduces_ || knows("reduced", stage, 0));
      learn("weight gradient", stage, j);
      ascend("weight gradient", stage, j);
    }
  }

  bool everything_is_done() const {
    for (int rank = 0; rank < s_.ranks; ++rank) {
      if (next_[rank] < s_.program[rank].size()) return false;
    }
    for (const auto& [edge, queue] : queues_) {
      if (!queue.empty()) return false;
    }
    return updates_agree() && all_or_nothing("output") > 0 &&
           (all_or_nothing("weight gradient") > 0 || is_evaluation());
  }

  // With one stage and one micro-batch, a training step from which Backward is missing looks like
  // this, too.
  bool is_evaluation() const {
    const auto only_forwards = [](const std::vector<Instruction>& program) {
      return std::all_of(program.begin(), program.end(), [](const Instruction& i) {
        return i.op == Op::Forward || i.op == Op::SendActivation || i.op == Op::RecvActivation;
      });
    };
    return std::all_of(s_.program.begin(), s_.program.end(), only_forwards);
  }

  // Whether OptimizerStep is on all ranks or on none, ReduceGradients for all stages or for none,
  // and Recompute, stage by stage, for all micro-batches or for none.
  bool updates_agree() const {
    const auto updates = std::count_if(s_.program.begin(), s_.program.end(), [](const auto& p) {
      return !p.empty() && p.back().op == Op::OptimizerStep;
    });
    return (updates == 0 || updates == s_.ranks) && all_or_nothing("reduced") >= 0 &&
           recomputes_agree();
  }

  bool recomputes_agree() const {
    std::map<int, int> per_stage;
    for (const auto& [what, stage, j] : facts_) {
      if (what == "recomputed") ++per_stage[stage];
    }
    return std::all_of(per_stage.begin(), per_stage.end(),
                       [&](const auto& count) { return count.second == s_.micro_batches; });
  }

  // 1: for every stage (and micro-batch); 0: for none; -1: for some.
  int all_or_nothing(const std::string& what) const {
    const auto known = std::count_if(facts_.begin(), facts_.end(),
                                     [&](const Fact& f) { return std::get<0>(f) == what; });
    const int all = what == "reduced" ? s_.stages : s_.stages * s_.micro_batches;
    return known == all ? 1 : known == 0 ? 0 : -1;
  }

  const Schedule& s_;
  std::vector<size_t> next_;
  std::set<Fact> facts_;
  std::map<std::pair<std::string, int>, int> count_;
  std::map<std::pair<std::string, int>, std::deque<int>> queues_;
  bool sound_ = true;
  bool reduces_ = false;  // the gradients of any stage
};

}  // namespace penstock
