// The verifier against a second opinion: every instruction of small schedules is dropped, doubled,
// moved to every other place and exchanged with every later one, and the verifier must accept
// exactly what a plain, slow machine executes to the end with the right result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/schedule/generators.h"
#include "runtime/schedule/lower.h"
#include "runtime/schedule/verify.h"
#include "tests/unit/schedule/support.h"

namespace penstock {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Executes a schedule by its meaning: tensors are facts in a set, edges are queues. Any rank that
// can run one instruction does so; nothing is planned, indexed or compared in advance.
class Machine {
 public:
  explicit Machine(const Schedule& schedule) : s_(schedule), next_(schedule.ranks, 0) {
    for (const auto& program : s_.program) {
      for (const Instruction& i : program) reduces_ = reduces_ || i.op == Op::ReduceGradients;
    }
  }

  // True if every rank gets to its end, nothing is left over, and all was computed in order.
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

  // What travels is known by its other end.
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

  // All pairs of stages of which one hands something to the other.
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
    return updates_agree() && all_or_nothing("output") > 0 && all_or_nothing("weight gradient") > 0;
  }

  // OptimizerStep on all ranks or on none, ReduceGradients likewise, Recompute stage by stage.
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

struct Tally {
  int accepted = 0;
  int refused = 0;
};

void judge(const Schedule& mutant, const std::string& mutation, Tally& tally) {
  const std::string refusal = message_of([&] { return verify(mutant); });
  const bool executes = Machine(mutant).succeeds();
  EXPECT_EQ(refusal.empty(), executes) << mutation << "\nverifier: " << refusal;
  ++(executes ? tally.accepted : tally.refused);
  if (refusal.empty()) return;
  EXPECT_THAT(refusal, StartsWith("bad schedule: "));
  EXPECT_THAT(refusal, HasSubstr("rank "));
  EXPECT_THAT(refusal, AnyOf(HasSubstr("lacks"), HasSubstr("twice"), HasSubstr("reduces again"),
                             HasSubstr("comes before"), HasSubstr("comes after"),
                             HasSubstr("is not the last"), HasSubstr("is sent by"),
                             HasSubstr("no meaning"), HasSubstr("deadlock: ")));
}

struct Case {
  std::string name;
  int ranks;
  int micro_batches;
  std::vector<Skip> skips = {};
};

class Mutations : public ::testing::TestWithParam<std::tuple<Case, bool>> {
 protected:
  void SetUp() override {
    const auto& [c, recompute] = GetParam();
    Schedule made = make_schedule(c.name, c.ranks, c.micro_batches);
    made.skips = c.skips;
    schedule_ = lower(made, {.recompute = recompute, .reduce = true, .update = true});
    Tally original;
    judge(schedule_, "unchanged", original);
    ASSERT_EQ(original.accepted, 1);
  }

  // Calls mutate(program, index) on a fresh copy for every instruction of every rank.
  template <typename Mutate>
  Tally mutate_each(const std::string& how, const Mutate& mutate) {
    Tally tally;
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      for (int i = 0; i < size(rank); ++i) {
        Schedule mutant = schedule_;
        mutate(mutant.program[rank], i);
        judge(mutant, how + " " + text(schedule_.program[rank][i]), tally);
      }
    }
    return tally;
  }

  int size(int rank) const { return static_cast<int>(schedule_.program[rank].size()); }

  Schedule schedule_;
};

TEST_P(Mutations, NothingMayBeDropped) {
  const Tally tally =
      mutate_each("dropped", [](auto& program, int i) { program.erase(program.begin() + i); });
  // Where there is only one, dropping it makes another valid schedule: a run without reduction, a
  // run without update, a stage that does not recompute.
  const bool recompute = std::get<bool>(GetParam());
  const int total_drops = (schedule_.stages == 1 ? 1 : 0) + (schedule_.ranks == 1 ? 1 : 0) +
                          (recompute && schedule_.micro_batches == 1 ? schedule_.stages : 0);
  EXPECT_EQ(tally.accepted, total_drops);
}

TEST_P(Mutations, NothingMayBeDoubled) {
  const Tally next = mutate_each("doubled in place", [](auto& program, int i) {
    const Instruction copy = program[i];
    program.insert(program.begin() + i, copy);
  });
  const Tally last = mutate_each("doubled at the end",
                                 [](auto& program, int i) { program.push_back(program[i]); });
  EXPECT_EQ(next.accepted + last.accepted, 0);
}

TEST_P(Mutations, MovedOnlyWhereDependenciesAllow) {
  Tally tally;
  for (int rank = 0; rank < schedule_.ranks; ++rank) {
    for (int from = 0; from < size(rank); ++from) {
      for (int to = 0; to < size(rank); ++to) {
        if (to == from) continue;
        Schedule mutant = schedule_;
        auto& program = mutant.program[rank];
        const Instruction moved = program[from];
        program.erase(program.begin() + from);
        program.insert(program.begin() + to, moved);
        judge(mutant, "moved " + text(moved) + " to " + std::to_string(to + 1), tally);
      }
    }
  }
  EXPECT_GT(tally.refused, tally.accepted);
}

TEST_P(Mutations, ExchangedOnlyWhereDependenciesAllow) {
  Tally tally;
  for (int rank = 0; rank < schedule_.ranks; ++rank) {
    for (int a = 0; a < size(rank); ++a) {
      for (int b = a + 1; b < size(rank); ++b) {
        Schedule mutant = schedule_;
        auto& program = mutant.program[rank];
        std::swap(program[a], program[b]);
        judge(mutant, "exchanged " + text(program[b]) + " and " + text(program[a]), tally);
      }
    }
  }
  EXPECT_GT(tally.refused, 0);
}

std::string test_name(const ::testing::TestParamInfo<std::tuple<Case, bool>>& parameters) {
  const auto& [c, recompute] = parameters.param;
  std::string name = c.name;
  name.append("_").append(std::to_string(c.ranks));
  name.append("x").append(std::to_string(c.micro_batches));
  for (const auto& [from, to] : c.skips) {
    name.append("_").append(std::to_string(from)).append("to").append(std::to_string(to));
  }
  if (recompute) name += "_recomputing";
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const std::vector<Case> kCases = {
    {"gpipe", 1, 2},
    {"gpipe", 2, 1},
    {"gpipe", 2, 3},
    {"gpipe", 3, 2, {{0, 2}}},
    {"1f1b", 2, 3},
    {"1f1b", 3, 4},
    {"1f1b", 4, 2, {{0, 3}, {1, 3}}},
    {"1f1b-deep", 2, 3},
    {"interleaved-1f1b", 2, 2},
    {"interleaved-1f1b", 2, 3, {{0, 2}, {0, 3}}},
    {"looped-bfs", 2, 2, {{1, 3}}},
    {"zb-h1", 3, 3},
    {"zb-h1", 3, 2, {{0, 2}}},
    {"zb-h2", 2, 3},
    {"zb-v", 2, 3},
    {"zb-v", 2, 2, {{0, 3}, {1, 3}}},
    {"dualpipev", 2, 2},
};

INSTANTIATE_TEST_SUITE_P(Schedules, Mutations,
                         ::testing::Combine(::testing::ValuesIn(kCases), ::testing::Bool()),
                         test_name);

}  // namespace
}  // namespace penstock
