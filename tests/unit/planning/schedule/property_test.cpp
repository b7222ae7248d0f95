// What holds for every schedule, tried on random ones: any generator, sizes, placement, skips and
// lowering. Sound ones are proved and run to their end; damaged ones are refused exactly where a
// plain machine (slow_machine.h) cannot execute them. A failure prints its seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/search/search.h"
#include "runtime/planning/schedule/timing/simulate.h"
#include "tests/unit/planning/schedule/search/random_problems.h"
#include "tests/unit/planning/schedule/slow_machine.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

bool coin(Random& random) {
  return between(random, 0, 1) == 1;
}

// Skips as in a U-Net, in any order: the first stage to the last, the second to the last but one,
// and so on; and now and then one anywhere.
std::vector<Skip> random_skips(Random& random, int stages) {
  std::vector<Skip> skips;
  for (int from = 0; from + 1 < stages - 1 - from; ++from) {
    if (coin(random)) skips.push_back({from, stages - 1 - from});
  }
  for (int extra = between(random, 0, 2); extra > 0 && stages > 2; --extra) {
    const int from = between(random, 0, stages - 3);
    const Skip skip{from, between(random, from + 2, stages - 1)};
    if (std::find(skips.begin(), skips.end(), skip) == skips.end()) skips.push_back(skip);
  }
  std::shuffle(skips.begin(), skips.end(), random);
  return skips;
}

// The stages of a schedule that has one on each rank, thrown together on fewer, of which each has
// one at least: every rank runs its stages' instructions in the order in which they would start.
Schedule thrown_together(const Schedule& s, int ranks, Random& random) {
  Schedule result = s;
  result.ranks = ranks;
  result.rank_of_stage = placement_by_dice(random, ranks, s.stages);
  PipelineCosts costs;
  costs.stage.assign(s.stages, StageTimes{});
  std::vector<std::vector<TimedInstruction>> spans(ranks);
  for (const auto& timed : simulate(s, costs).rank) {
    auto& target = spans[result.rank_of_stage[timed.front().instruction.stage]];
    target.insert(target.end(), timed.begin(), timed.end());
  }
  result.program.assign(ranks, {});
  for (int rank = 0; rank < ranks; ++rank) {
    std::stable_sort(spans[rank].begin(), spans[rank].end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    for (const auto& timed : spans[rank]) result.program[rank].push_back(timed.instruction);
  }
  return result;
}

// What a short search finds for unlike stages: whole backwards beside halves, in any order.
Schedule searched_schedule(Random& random, int micro_batches) {
  SearchProblem problem = unlike_stages(random, {.ranks = between(random, 1, 5),
                                                 .chunks = between(random, 1, 3),
                                                 .micro_batches = micro_batches,
                                                 .in_a_v = coin(random),
                                                 .more = between(random, 0, 2)});
  add_costs_of_halves(random, problem);
  if (coin(random)) add_limits(random, problem, 3);
  return search(problem, {.instructions = 4'000}).schedule;
}

Schedule random_schedule(Random& random, int most_micro_batches) {
  const std::vector<std::string> names = schedule_names();
  const int micro_batches = between(random, 1, most_micro_batches);
  const auto chosen = static_cast<size_t>(between(random, 0, static_cast<int>(names.size())));
  if (chosen == names.size()) {
    Schedule s = searched_schedule(random, micro_batches);
    if (coin(random)) s.skips = random_skips(random, s.stages);
    return s;
  }
  const std::string& name = names[chosen];
  const bool any_chunks = known_schedule(name).any_chunks;
  const int ranks = between(random, 1, 5);
  Schedule s = make_schedule(name, ranks, micro_batches, any_chunks ? between(random, 1, 3) : 0);
  if (s.stages == s.ranks && coin(random)) {
    const int stages = between(random, ranks, 3 * ranks);
    s = thrown_together(make_schedule(name, stages, micro_batches, 1), ranks, random);
  }
  if (coin(random)) s.skips = random_skips(random, s.stages);
  return s;
}

Lowering random_lowering(Random& random) {
  return {.recompute = coin(random),
          .keep_adjacent = coin(random),
          .reduce = coin(random),
          .update = coin(random)};
}

double time_with(const Schedule& s, double latency) {
  PipelineCosts costs;
  costs.stage.assign(s.stages, StageTimes{});
  costs.within_node.latency = latency;
  return makespan(simulate(s, costs));
}

TEST(Property, EverythingLoweredIsProvedAndRuns) {
  for (int seed = 0; seed < 1'500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Schedule made = random_schedule(random, 12);
    const Schedule lowered = lower(made, random_lowering(random));
    ASSERT_EQ(message_of([&] { return verify(lowered); }), "");
    ASSERT_TRUE(SlowMachine(lowered).succeeds());
    const Schedule evaluation = lower(forward_only(made), {});
    ASSERT_EQ(message_of([&] { return verify(evaluation); }), "");
    ASSERT_EQ(evaluation.skips, made.skips);
  }
}

// What jumps over stages never arrives later than what went through them all.
TEST(Property, SkipsTakeNoTime) {
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    Schedule s = random_schedule(random, 12);
    s.skips = random_skips(random, s.stages);
    Schedule without = s;
    without.skips.clear();
    for (const double latency : {0.0, 0.5}) {
      ASSERT_EQ(time_with(lower(s, {}), latency), time_with(lower(without, {}), latency));
      ASSERT_EQ(time_with(s, latency), time_with(lower(s, {}), latency));
    }
  }
}

// One instruction dropped, doubled or moved; as words.
std::string damage(std::vector<Instruction>& program, Random& random) {
  const int last = static_cast<int>(program.size()) - 1;
  const int at = between(random, 0, last);
  const Instruction victim = program[at];
  const int kind = between(random, 0, 3);
  if (kind == 0) {
    program.erase(program.begin() + at);
    return "dropped " + text(victim);
  }
  if (kind == 1) {
    program.insert(program.begin() + between(random, 0, last + 1), victim);
    return "doubled " + text(victim);
  }
  const int to = kind == 2 ? between(random, 0, last)
                           : std::clamp(at + between(random, -3, 3), 0, last);  // near by
  program.erase(program.begin() + at);
  program.insert(program.begin() + to, victim);
  return "moved " + text(victim) + " from " + std::to_string(at + 1) + " to " +
         std::to_string(to + 1);
}

TEST(Property, DamageIsRefusedExactlyWhereItDoesHarm) {
  int refused = 0;
  for (int seed = 0; seed < 6'000; ++seed) {
    Random random(seed);
    const Schedule made = random_schedule(random, 6);  // first, whatever the compiler prefers
    Schedule s = lower(made, random_lowering(random));
    auto& program = s.program[between(random, 0, s.ranks - 1)];
    const std::string what = damage(program, random);
    const std::string refusal = message_of([&] { return verify(s); });
    ASSERT_EQ(refusal.empty(), SlowMachine(s).succeeds())
        << "seed " << seed << ": " << what << "\nverifier: " << refusal;
    refused += refusal.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 3'000);
}

// Pairs on one rank of which the second needs the first, written down once more: in a sound
// program, moving either across the other must be noticed.
bool needs(const Instruction& second, const Instruction& first, int micro_batches) {
  if (second.op == Op::OptimizerStep) return true;
  if (second.stage != first.stage) return false;
  const auto adds = [](Op op) { return op == Op::Backward || op == Op::BackwardWeight; };
  const auto differentiates = [](Op op) { return op == Op::Backward || op == Op::BackwardInput; };
  if (second.op == Op::ReduceGradients) return adds(first.op);
  if (first.op == Op::ReduceGradients) {
    return adds(second.op) && second.micro_batch == micro_batches - 1;
  }
  const bool same_work =
      second.op == first.op && is_compute(second.op) && second.op != Op::Recompute;
  if (same_work) return second.micro_batch > first.micro_batch;
  if (second.micro_batch != first.micro_batch) return false;
  if (second.op == Op::Forward) return first.op == Op::RecvActivation;
  if (second.op == Op::SendActivation || second.op == Op::Recompute) return first.op == Op::Forward;
  if (second.op == Op::SendGradient) return differentiates(first.op);
  if (differentiates(second.op)) {
    return first.op == Op::Forward || first.op == Op::Recompute || first.op == Op::RecvGradient;
  }
  return second.op == Op::BackwardWeight && first.op == Op::BackwardInput;
}

TEST(Property, NothingMovesAcrossADependency) {
  int moved = 0;
  for (int seed = 0; seed < 4'000; ++seed) {
    Random random(seed);
    Schedule s = lower(random_schedule(random, 8),
                       {.recompute = coin(random), .reduce = true, .update = true});
    auto& program = s.program[between(random, 0, s.ranks - 1)];
    const int first = between(random, 0, static_cast<int>(program.size()) - 1);
    const auto second =
        std::find_if(program.begin() + first + 1, program.end(),
                     [&](const auto& i) { return needs(i, program[first], s.micro_batches); });
    if (second == program.end()) continue;
    const std::string what = text(program[first]) + " behind " + text(*second);
    std::rotate(program.begin() + first, program.begin() + first + 1, second + 1);
    EXPECT_NE(message_of([&] { return verify(s); }), "") << "seed " << seed << ": moved " << what;
    ++moved;
  }
  EXPECT_GT(moved, 3'000);
}

}  // namespace
}  // namespace penstock
