// The verifier against a second opinion: every instruction of small schedules is dropped, doubled,
// moved to every other place and exchanged with every later one, and the verifier must accept
// exactly what a plain, slow machine executes to the end with the right result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "tests/unit/planning/schedule/slow_machine.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Tally {
  int accepted = 0;
  int refused = 0;
};

void judge(const Schedule& mutant, const std::string& mutation, Tally& tally) {
  const std::string refusal = message_of([&] { return verify(mutant); });
  const bool executes = SlowMachine(mutant).succeeds();
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

std::string case_name(const ::testing::TestParamInfo<std::tuple<Case, bool>>& parameters) {
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
    {"v-half", 2, 3},
    {"v-min", 3, 2},
    {"zb-v", 2, 2, {{0, 3}, {1, 3}}},
    {"dualpipev", 2, 2},
};

INSTANTIATE_TEST_SUITE_P(Schedules, Mutations,
                         ::testing::Combine(::testing::ValuesIn(kCases), ::testing::Bool()),
                         case_name);

}  // namespace
}  // namespace penstock
