// The bound by the orders of one rank against all orders of all ranks.
#include "runtime/planning/schedule/search/bounds/rank_orders.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/planning/schedule/search/bounds/bound.h"
#include "runtime/planning/schedule/search/bounds/certificate.h"
#include "runtime/planning/schedule/search/search.h"
#include "tests/unit/planning/schedule/search/random_problems.h"

namespace penstock {
namespace {

// Problems that are so small that the search tries all orders.
SearchProblem drawn_problem(Random& random, bool unequal) {
  const int ranks = between(random, 1, 4);
  const int chunks = between(random, 1, ranks < 3 ? 2 : 1);
  const int more = unequal ? between(random, 1, 2) : 0;
  SearchProblem problem =
      unlike_stages(random, {.ranks = ranks,
                             .chunks = chunks,
                             .micro_batches = between(random, 2, 16 / (ranks * chunks + more)),
                             .in_a_v = chunks == 2 && between(random, 0, 1) == 0,
                             .more = more});
  if (between(random, 0, 1) > 0) add_messages(random, problem);
  if (between(random, 0, 1) > 0) add_costs_of_halves(random, problem);
  problem.recompute = between(random, 0, 2) == 0;
  if (between(random, 0, 3) > 0) add_limits(random, problem, 3);
  return problem;
}

TEST(RankOrders, NoneEndsLaterThanTheBestOfAllRanks) {
  int shown = 0;
  for (unsigned seed = 0; seed < 320; ++seed) {
    Random random(seed);
    const SearchProblem problem = drawn_problem(random, seed >= 200);
    const StepWork work = work_of(problem);
    const HeadsAndTails known = heads_and_tails(work);
    const double best = search(problem, {.instructions = 100'000}).makespan;
    for (unsigned chosen = 1; chosen < (1U << problem.ranks); ++chosen) {
      std::vector<int> ranks;
      for (int rank = 0; rank < problem.ranks; ++rank) {
        if ((chosen >> rank & 1U) != 0) ranks.push_back(rank);
      }
      EXPECT_FALSE(no_order_ends_before(work, known, {ranks, best * 1.0001}))
          << testing::PrintToString(ranks) << ", seed " << seed;
    }
    const double bound = lower_bound(work, known);
    const auto more = orders_bound(work, known, bound, best);
    if (!more) continue;
    ++shown;
    EXPECT_GT(more->total, bound);
    EXPECT_LE(more->total, best);
  }
  EXPECT_GE(shown, 10);
}

// Everything takes 1. The first rank has room for one micro-batch until its weight half has run, so
// on the second rank, of which alone the orders are tried, 3 pass between two micro-batches; there
// the last weight half ends the step.
TEST(RankOrders, OfOneRankWaitForRoomOnAnother) {
  SearchProblem problem{.ranks = 2, .micro_batches = 4, .rank_of_stage = {0, 1}};
  problem.costs.stage.resize(2);
  problem.held = {{100, 100}, {100, 100}};
  problem.limit = {100, 400};
  const StepWork work = work_of(problem);
  HeadsAndTails nothing = heads_and_tails(work);
  std::ranges::fill(nothing.head, 0);
  std::ranges::fill(nothing.tail, 0);
  EXPECT_TRUE(no_order_ends_before(work, nothing, {{1}, 18}));
  EXPECT_FALSE(no_order_ends_before(work, nothing, {{1}, 18.01}));
}

TEST(RankOrders, SayMoreThanHeadsAndTailsWhereMemoryIsScarce) {
  int raised = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    Random random(seed);
    SearchProblem problem = unlike_stages(random, {.ranks = 5, .micro_batches = 16});
    int64_t largest = 0;
    for (HeldBytes& held : problem.held) {
      held.until_weight = held.until_input / 3;
      largest = std::max(largest, held.until_input);
    }
    problem.limit.assign(problem.ranks, between(random, 2, 3) * largest);
    const Schedule found = search(problem, {.instructions = 1'000'000}).schedule;
    const Certificate usual = certify(problem, found);
    const Certificate thorough = certify(problem, found, BoundEffort::Thorough);
    EXPECT_NO_THROW(check_certificate(thorough)) << "seed " << seed;
    if (!thorough.orders) continue;
    ++raised;
    EXPECT_GT(thorough.bound, usual.bound) << "seed " << seed;
    EXPECT_LE(thorough.bound, thorough.makespan) << "seed " << seed;
  }
  EXPECT_GE(raised, 1);
}

}  // namespace
}  // namespace penstock
