// The moves of a re-plan: every element that a rank is to hold comes from a rank that has it, the
// nearest one, once.
#include "runtime/engine/training/replan/moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Grid kTwoStages{.positions = 2, .replicas = 1};
constexpr Grid kTwoByTwo{.positions = 2, .replicas = 2};

TEST(Moves, StayWhereARankHoldsTheTensorAlready) {
  const Holdings before = {{{"a", 0, 4}, {"b", 0, 6}}, {{"c", 0, 2}}};
  const Holdings after = {{{"a", 0, 4}}, {{"b", 0, 6}, {"c", 0, 2}}};
  EXPECT_THAT(plan_moves(before, after, kTwoStages),
              ElementsAre(Move{0, 0, 0, 0, 0, 4}, Move{0, 1, 1, 0, 0, 6}, Move{1, 1, 0, 1, 0, 2}));
}

TEST(Moves, OfWholeTensorsStayInTheirReplica) {
  // World ranks 0 and 1 are replica 0, 2 and 3 are replica 1.
  const Holdings before = {{{"a", 0, 4}, {"b", 0, 6}}, {}, {{"a", 0, 4}, {"b", 0, 6}}, {}};
  const Holdings after = {{{"a", 0, 4}}, {{"b", 0, 6}}, {{"a", 0, 4}}, {{"b", 0, 6}}};
  EXPECT_THAT(plan_moves(before, after, kTwoByTwo),
              ElementsAre(Move{0, 0, 0, 0, 0, 4}, Move{0, 1, 1, 0, 0, 6}, Move{2, 2, 0, 0, 0, 4},
                          Move{2, 3, 1, 0, 0, 6}));
}

TEST(Moves, OfSharesComeFromTheReplicasThatHaveThem) {
  // Replica 0 had [0, 5) of the state and is to have [0, 8), on the other rank.
  const Holdings before = {{{"m", 0, 5}}, {}, {{"m", 5, 10}}, {}};
  const Holdings after = {{}, {{"m", 0, 8}}, {}, {{"m", 8, 10}}};
  EXPECT_THAT(plan_moves(before, after, kTwoByTwo),
              ElementsAre(Move{0, 1, 0, 0, 0, 5}, Move{2, 1, 0, 0, 5, 8}, Move{2, 3, 0, 0, 8, 10}));
}

TEST(Moves, OfATiedTensorComeFromTheRankItselfAndElseFromTheLowest) {
  const Grid three{.positions = 3, .replicas = 1};
  const Holdings before = {{{"tied", 0, 3}}, {}, {{"tied", 0, 3}}};
  const Holdings after = {{}, {{"tied", 0, 3}}, {{"tied", 0, 3}, {"tied", 0, 3}}};
  EXPECT_THAT(plan_moves(before, after, three),
              ElementsAre(Move{0, 1, 0, 0, 0, 3}, Move{2, 2, 0, 0, 0, 3}, Move{2, 2, 0, 1, 0, 3}));
}

TEST(Moves, OfEmptyPartsAreNone) {
  EXPECT_THAT(plan_moves({{{"m", 3, 3}}}, {{{"m", 3, 3}, {"other", 0, 0}}}, {}), IsEmpty());
}

TEST(Moves, OfWhatNobodyHasAreABug) {
  EXPECT_THROW((void)plan_moves({{{"m", 0, 3}}}, {{{"m", 0, 4}}}, {}), std::exception);
  EXPECT_THROW((void)plan_moves({{{"m", 0, 3}}}, {{{"n", 0, 3}}}, {}), std::exception);
}

// Random splits and cuts: what the moves copy is what each rank is to hold.
TEST(Moves, FillEveryPartWithItsOwnElements) {
  std::mt19937 dice(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(dice() % n); };
  for (int round = 0; round < 200; ++round) {
    const Grid grid{.positions = 1 + static_cast<int>(below(4)),
                    .replicas = 1 + static_cast<int>(below(3)),
                    .placement = below(2) == 0 ? Placement::Stages : Placement::Replicas};
    std::map<std::string, int64_t> elements;
    for (int i = 0; i < 6; ++i) elements["t" + std::to_string(i)] = 1 + below(50);
    const auto deal = [&] {
      Holdings holdings(static_cast<size_t>(grid.ranks()));
      for (const auto& [name, count] : elements) {
        const int position = static_cast<int>(below(grid.positions));
        const bool is_shared = below(2) == 0;
        std::vector<int64_t> cuts(static_cast<size_t>(grid.replicas) + 1);
        for (int64_t& cut : cuts) cut = below(count + 1);
        std::sort(cuts.begin(), cuts.end());
        cuts.front() = 0;
        cuts.back() = count;
        for (int r = 0; r < grid.replicas; ++r) {
          const auto own = static_cast<size_t>(r);
          auto& parts = holdings[static_cast<size_t>(grid.world_rank(position, r))];
          if (is_shared) parts.push_back({name, cuts[own], cuts[own + 1]});
          if (!is_shared) parts.push_back({name, 0, count});
        }
      }
      return holdings;
    };
    const Holdings before = deal();
    const Holdings after = deal();
    std::vector<std::vector<std::vector<int>>> filled;  // by rank and part: how often each element
    for (const auto& parts : after) {
      auto& of_rank = filled.emplace_back();
      for (const HeldPart& part : parts) {
        of_rank.emplace_back(static_cast<size_t>(part.last - part.first));
      }
    }
    for (const Move& move : plan_moves(before, after, grid)) {
      const HeldPart& source = before.at(static_cast<size_t>(move.from)).at(move.from_part);
      const HeldPart& target = after.at(static_cast<size_t>(move.to)).at(move.to_part);
      ASSERT_EQ(source.tensor, target.tensor);
      ASSERT_GE(move.first, source.first);
      ASSERT_LE(move.last, source.last);
      auto& counts = filled[static_cast<size_t>(move.to)][move.to_part];
      for (int64_t at = move.first; at < move.last; ++at) {
        ++counts.at(static_cast<size_t>(at - target.first));
      }
    }
    for (const auto& of_rank : filled) {
      for (const auto& counts : of_rank) EXPECT_THAT(counts, testing::Each(1));
    }
  }
}

}  // namespace
}  // namespace penstock
