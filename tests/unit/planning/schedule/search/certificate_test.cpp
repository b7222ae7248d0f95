// Certificates hold as they are made, and in no part when it is changed.
#include "runtime/planning/schedule/search/bounds/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/search/search.h"
#include "tests/unit/planning/schedule/search/random_problems.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using testing::HasSubstr;

Certificate certificate_of(unsigned seed) {
  Random random(seed);
  const Sizes sizes{.ranks = between(random, 3, 5),
                    .chunks = between(random, 1, 2),
                    .micro_batches = between(random, 6, 10),
                    .in_a_v = between(random, 0, 2) == 0,
                    .more = seed < 40 ? 0 : between(random, 1, 3)};
  SearchProblem problem = unlike_stages(random, sizes);
  add_messages(random, problem);
  add_limits(random, problem, 3);
  return certify(problem, search(problem, {.instructions = 500'000}).schedule);
}

std::string certificate_refusal(const Certificate& certificate) {
  return message_of([&] { check_certificate(certificate); });
}

TEST(Certificate, HoldsAsItIsMade) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Certificate certificate = certificate_of(seed);
    EXPECT_EQ(certificate_refusal(certificate), "") << "seed " << seed;
    EXPECT_EQ(certificate.work.size(), static_cast<size_t>(certificate.problem.ranks));
    EXPECT_EQ(certificate.memory.size(), static_cast<size_t>(certificate.problem.ranks));
    EXPECT_LE(certificate.bound, certificate.makespan * (1 + 1e-9)) << "seed " << seed;
  }
}

TEST(Certificate, DoesNotHoldWithAnyPartChanged) {
  struct Change {
    const char* part;
    std::function<void(Certificate&)> make;
    const char* refusal;
  };
  constexpr double kMore = 1.001;
  const Change changes[] = {
      {"a shorter step", [](auto& c) { c.makespan /= kMore; }, "the length of the schedule's step"},
      {"a longer step", [](auto& c) { c.makespan *= kMore; }, "the length of the schedule's step"},
      {"a higher bound", [](auto& c) { c.bound *= kMore; }, "the largest of its bounds"},
      {"a lower bound", [](auto& c) { c.bound /= kMore; }, "the largest of its bounds"},
      {"a smaller gap", [](auto& c) { c.gap -= 0.001; }, "one and the gap"},
      {"a larger head", [](auto& c) { c.work[1].head = c.work[1].head * kMore + 0.1; }, "the work"},
      {"a larger tail", [](auto& c) { c.work[1].tail = c.work[1].tail * kMore + 0.1; }, "the work"},
      {"more work", [](auto& c) { c.work[0].work *= kMore; },
       "the work within its bound of rank 0"},
      {"a negative head", [](auto& c) { c.work[0].head = -1; }, "below 0"},
      {"work of no rank", [](auto& c) { c.work[0].rank = c.problem.ranks; }, "a bound is of rank"},
      {"all orders tried", [](auto& c) { c.all_orders_tried = true; }, ""},
      {"no work bounds", [](auto& c) { c.work.clear(), c.memory.clear(); }, "the largest"},
      {"a later begin", [](auto& c) { c.memory[1].head = c.memory[1].head * kMore + 1; },
       "the head of memory of rank 1"},
      {"a later end", [](auto& c) { c.memory[1].tail = c.memory[1].tail * kMore + 1; },
       "the tail of memory of rank 1"},
      {"more held", [](auto& c) { c.memory[0].byte_seconds *= kMore; }, "what is held over time"},
      {"less room", [](auto& c) { --c.memory[0].limit; }, "the limit of rank 0 is"},
      {"higher orders",
       [](auto& c) {
         c.orders = OrdersBound{{0}, c.makespan * kMore};
       },
       "it does not come out that no order"},
      {"orders of no rank",
       [](auto& c) {
         c.orders = OrdersBound{{}, 1};
       },
       "unsorted"},
      {"orders of a rank twice",
       [](auto& c) {
         c.orders = OrdersBound{{1, 1}, 1};
       },
       "unsorted"},
      {"orders of another rank",
       [](auto& c) {
         c.orders = OrdersBound{{c.problem.ranks}, 1};
       },
       "a bound is of rank"},
      {"memory of no rank", [](auto& c) { c.memory[0].rank = -1; }, "but no limit of it"},
      {"a swapped order",
       [](auto& c) { std::swap(c.schedule.program[0][0], c.schedule.program[0][1]); }, ""},
      {"another placement",
       [](auto& c) { std::swap(c.problem.rank_of_stage[0], c.problem.rank_of_stage[1]); }, ""},
      {"other times",
       [](auto& c) {
         for (auto& t : c.problem.costs.stage) t.forward *= kMore;
       },
       "the length of the schedule's step"},
      {"other links", [](auto& c) { c.problem.costs.between_nodes.latency += 1000; },
       "the length of the schedule's step"},
      {"more bytes",
       [](auto& c) {
         for (auto& h : c.problem.held) h.until_input *= 5;
       },
       ""},
      {"a lower limit",
       [](auto& c) {
         for (auto& l : c.problem.limit) l = 1;
       },
       "nothing fits"},
  };
  for (unsigned seed = 35; seed < 45; ++seed) {
    const Certificate sound = certificate_of(seed);
    for (const Change& change : changes) {
      Certificate changed = sound;
      change.make(changed);
      const std::string said = certificate_refusal(changed);
      EXPECT_FALSE(said.empty()) << change.part << " is taken, seed " << seed;
      EXPECT_THAT(said, HasSubstr(change.refusal)) << change.part << ", seed " << seed;
    }
  }
}

// One micro-batch after the other on every rank.
Schedule one_at_a_time(const SearchProblem& problem) {
  Programs programs;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    auto& program = programs.emplace_back();
    for (int j = 0; j < problem.micro_batches; ++j) {
      for (const Op op : {Op::Forward, Op::BackwardInput, Op::BackwardWeight}) {
        program.push_back({op, rank, j});
      }
    }
  }
  return schedule_of(problem, programs);
}

// A small problem whose best order takes longer than the bounds of all ranks say.
TEST(Certificate, SaysWhereAllOrdersHaveBeenTried) {
  int tried = 0;
  int slower = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Random random(seed);
    SearchProblem problem = unlike_stages(random, {.ranks = 3, .micro_batches = 4});
    add_limits(random, problem, 3);
    const Certificate best = certify(problem, search(problem).schedule);
    EXPECT_EQ(certificate_refusal(best), "") << "seed " << seed;
    EXPECT_EQ(best.gap, 0) << "seed " << seed;
    if (!best.all_orders_tried) continue;
    ++tried;
    Certificate changed = best;
    changed.all_orders_tried = false;
    EXPECT_THAT(certificate_refusal(changed), HasSubstr("the largest of its bounds"));
    changed = certify(problem, one_at_a_time(problem));
    if (changed.makespan < best.makespan * (1 + 1e-9)) continue;
    ++slower;
    changed.all_orders_tried = true;
    EXPECT_THAT(certificate_refusal(changed), HasSubstr("another order takes less"));
  }
  EXPECT_GE(tried, 3);
  EXPECT_GE(slower, 3);
}

TEST(Certificate, IsNotMadeOfASchedulePastItsLimit) {
  Random random(3);
  SearchProblem problem = unlike_stages(random, {.ranks = 2, .micro_batches = 4});
  const Schedule schedule = gpipe(2, 4);
  problem.limit = peak_held(problem, schedule);
  EXPECT_EQ(certificate_refusal(certify(problem, schedule)), "");
  --problem.limit[1];
  EXPECT_THAT(message_of([&] { (void)certify(problem, schedule); }),
              HasSubstr("which is above its limit"));
}

}  // namespace
}  // namespace penstock
