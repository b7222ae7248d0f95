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
SearchProblem drawn_problem(Random& random) {
  const int ranks = between(random, 1, 4);
  const int chunks = between(random, 1, ranks < 3 ? 2 : 1);
  SearchProblem problem =
      unlike_stages(random, {.ranks = ranks,
                             .chunks = chunks,
                             .micro_batches = between(random, 2, 16 / (ranks * chunks)),
                             .in_a_v = chunks == 2 && between(random, 0, 1) == 0});
  if (between(random, 0, 1) > 0) add_messages(random, problem);
  if (between(random, 0, 1) > 0) add_costs_of_halves(random, problem);
  problem.recompute = between(random, 0, 2) == 0;
  if (between(random, 0, 3) > 0) add_limits(random, problem, 3);
  return problem;
}

TEST(RankOrders, NoneEndsLaterThanTheBestOfAllRanks) {
  int shown = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const SearchProblem problem = drawn_problem(random);
    const StepWork work = work_of(problem);
    const HeadsAndTails known = heads_and_tails(work);
    const double best = search(problem, {.instructions = 100'000}).makespan;
    for (int rank = 0; rank < problem.ranks; ++rank) {
      for (int other = rank; other < problem.ranks; ++other) {
        std::vector<int> ranks{rank};
        if (other > rank) ranks.push_back(other);
        EXPECT_FALSE(no_order_ends_before(work, known, {ranks, best * 1.0001}))
            << "ranks " << rank << " and " << other << ", seed " << seed;
      }
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
