// What is refused before anything is searched.
#include "runtime/planning/schedule/search/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/planning/schedule/search/random_problems.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using testing::HasSubstr;

SearchProblem good_problem() {
  Random random(1);
  SearchProblem problem = unlike_stages(random, {.ranks = 2, .chunks = 2, .micro_batches = 3});
  problem.held.assign(4, {.until_input = 100, .until_weight = 40});
  problem.limit.assign(2, 200);
  return problem;
}

std::string problem_refusal(const SearchProblem& problem) {
  return message_of([&] { check_problem(problem); });
}

TEST(SearchProblem, AGoodOneIsTaken) {
  EXPECT_EQ(problem_refusal(good_problem()), "");
}

TEST(SearchProblem, DifferencesAreFoundAndNamed) {
  const SearchProblem before = good_problem();
  EXPECT_EQ(difference(before, before, 0.1), "");
  const auto named = [&](const auto& change) {
    SearchProblem now = before;
    change(now);
    return difference(before, now, 0.1);
  };
  EXPECT_EQ(named([](auto& now) { now.micro_batches = 4; }), "it is for 3 micro-batches");
  EXPECT_EQ(named([](auto& now) { now.recompute = true; }), "it recomputes nothing");
  EXPECT_EQ(named([](auto& now) { now.costs.node_of_rank = {0, 1}; }), "ranks lie on other nodes");
  EXPECT_EQ(named([](auto& now) { now.costs.stage[2].forward *= 1.05; }), "");
  EXPECT_EQ(named([](auto& now) { now.costs.stage[2].forward *= 1.2; }),
            "stage 2 takes another time");
  EXPECT_EQ(named([](auto& now) { now.costs.stage[3].backward_weight *= 0.8; }),
            "stage 3 takes another time");
  EXPECT_EQ(named([](auto& now) { now.costs.within_node.latency = 1; }),
            "messages take another time");
  EXPECT_EQ(named([](auto& now) { now.costs.boundary_link.assign(3, {.latency = 1}); }),
            "messages take another time");
  EXPECT_EQ(named([](auto& now) {
              now.costs.boundary_bytes = {1, 1, 1};
            }),
            "messages take another time");
  EXPECT_EQ(named([](auto& now) { now.limit[0] = 300; }), "");
}

TEST(SearchProblem, TimesMustMakeSense) {
  for (const double time : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    SearchProblem problem = good_problem();
    problem.costs.stage[1].backward_weight = time;
    EXPECT_THAT(problem_refusal(problem), HasSubstr("times must be finite and not negative"));
  }
  SearchProblem problem = good_problem();
  problem.costs.stage.pop_back();
  EXPECT_THAT(problem_refusal(problem),
              HasSubstr("there are times for 3 stages, but the schedule has 4"));
}

TEST(SearchProblem, BytesMustMakeSense) {
  SearchProblem problem = good_problem();
  problem.held[2] = {.until_input = 100, .until_weight = 101};
  EXPECT_THAT(problem_refusal(problem),
              HasSubstr("stage 2 holds 100 bytes until its input half and 101"));
  problem.held[2] = {.until_input = -1, .until_weight = -1};
  EXPECT_THAT(problem_refusal(problem), HasSubstr("stage 2 holds -1 bytes"));
  problem.held.pop_back();
  EXPECT_THAT(problem_refusal(problem),
              HasSubstr("there are 3 stages with bytes held instead of 4"));
}

TEST(SearchProblem, ALimitThatNothingFitsNamesTheRankAndTheBytesShort) {
  SearchProblem problem = good_problem();
  problem.limit[1] = 193;
  EXPECT_EQ(problem_refusal(problem),
            "nothing fits: rank 1 holds 200 bytes with one micro-batch at a time, 7 more than its "
            "limit");
  problem.limit.pop_back();
  EXPECT_THAT(problem_refusal(problem), HasSubstr("there are 1 limits of ranks instead of 2"));
}

TEST(SearchProblem, PlacementsMustMakeSense) {
  SearchProblem problem = good_problem();
  problem.rank_of_stage = {0, 0, 0, 1};
  problem.limit[0] += 300;  // it has a stage more to hold
  EXPECT_EQ(problem_refusal(problem), "");
  problem.rank_of_stage = {0, 0, 0, 0};
  EXPECT_THAT(problem_refusal(problem), HasSubstr("rank 1 holds no stage"));
  problem.ranks = 0;
  EXPECT_THAT(problem_refusal(problem), HasSubstr("at least 1 rank"));
}

TEST(SearchProblem, SizesAreLimited) {
  EXPECT_EQ(message_of([] { check_searched_sizes(256, 512); }), "");
  EXPECT_EQ(message_of([] { check_searched_sizes(257, 512); }),
            "a schedule of 257 stages x 512 micro-batches is too large to be searched: at most "
            "131072 of them are possible");
  SearchProblem problem = good_problem();
  problem.micro_batches = 40'000;
  EXPECT_THAT(problem_refusal(problem), HasSubstr("too large to be searched"));
}

TEST(SearchProblem, PeaksCountHalves) {
  const SearchProblem problem = good_problem();
  const Schedule schedule = schedule_of(problem, {{{Op::Forward, 0, 0},
                                                   {Op::Forward, 2, 0},
                                                   {Op::BackwardInput, 2, 0},
                                                   {Op::Forward, 0, 1},
                                                   {Op::BackwardWeight, 2, 0},
                                                   {Op::Backward, 0, 0}},
                                                  {}});
  EXPECT_EQ(peak_held(problem, schedule), (std::vector<int64_t>{240, 0}));
}

}  // namespace
}  // namespace penstock
