// The search's own evaluation says what the simulator says of the proved schedule.
#include "runtime/planning/schedule/search/step_timer.h"

#include <gtest/gtest.h>

#include "runtime/planning/schedule/generators/generators.h"
#include "tests/unit/planning/schedule/search/random_problems.h"

namespace penstock {
namespace {

SearchProblem any_problem(Random& random) {
  const int chunks = between(random, 1, 3);
  SearchProblem problem = unlike_stages(random, {.ranks = between(random, 1, 6),
                                                 .chunks = chunks,
                                                 .micro_batches = between(random, 1, 12),
                                                 .in_a_v = between(random, 0, 2) == 0});
  if (between(random, 0, 2) > 0) add_messages(random, problem);
  if (between(random, 0, 1) > 0) add_costs_of_halves(random, problem);
  problem.recompute = between(random, 0, 2) == 0;
  return problem;
}

TEST(StepTimer, IsTheSimulatorsStep) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const SearchProblem problem = any_problem(random);
    const StepWork work = work_of(problem);
    const Programs programs = random_programs(random, problem);
    const double simulated = proved_makespan(problem, schedule_of(problem, programs));
    EXPECT_NEAR(StepTimer(work).makespan(programs), simulated, 1e-9 * simulated) << "seed " << seed;
  }
}

TEST(StepTimer, RefusesWhatHoldsTooMuch) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    SearchProblem problem = any_problem(random);
    const Programs programs = random_programs(random, problem);
    problem.limit = peak_held(problem, schedule_of(problem, programs));
    const StepWork fits = work_of(problem);
    EXPECT_LT(StepTimer(fits).makespan(programs), StepTimer::kNever) << "seed " << seed;
    --problem.limit[between(random, 0, problem.ranks - 1)];
    const StepWork does_not = work_of(problem);
    EXPECT_EQ(StepTimer(does_not).makespan(programs), StepTimer::kNever) << "seed " << seed;
  }
}

TEST(StepTimer, RefusesDeadlocks) {
  Random random(1);
  const SearchProblem problem = unlike_stages(random, {.ranks = 2, .micro_batches = 2});
  const StepWork work = work_of(problem);
  Programs programs = gpipe(2, 2).program;
  StepTimer evaluation(work);
  EXPECT_LT(evaluation.makespan(programs), StepTimer::kNever);
  std::swap(programs[0][1], programs[0][2]);  // rank 0: F0 B0 F1 B1
  std::swap(programs[1][0], programs[1][1]);  // rank 1: F1 F0 B0 B1
  EXPECT_EQ(evaluation.makespan(programs), StepTimer::kNever);
}

// Each instruction of the path begins at the end of the one after it in the list, so times and
// latencies along it add up to the step.
TEST(StepTimer, CriticalPathAddsUpToTheStep) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const SearchProblem problem = unlike_stages(random, {.ranks = 4, .micro_batches = 6});
    const StepWork work = work_of(problem);
    const Programs programs = random_programs(random, problem);
    StepTimer evaluation(work);
    const double makespan = evaluation.makespan(programs);
    double sum = 0;
    for (const auto& [rank, index] : evaluation.critical_path(programs)) {
      const Instruction& instruction = programs[rank][index];
      sum += seconds_of(problem.costs.stage[instruction.stage], instruction.op);
    }
    EXPECT_NEAR(sum, makespan, 1e-9 * makespan) << "seed " << seed;
  }
}

}  // namespace
}  // namespace penstock
