#include "tests/unit/planning/schedule/search/all_orders.h"

#include <algorithm>

#include "runtime/planning/schedule/search/step_timer.h"

namespace penstock {
namespace {

using Program = std::vector<Instruction>;

// Adds all ways to go on with a program that has so many forwards, input halves and weight halves.
void go_on(int stage, int micro_batches, bool whole_too, int forwards, int inputs, int weights,
           Program& program, std::vector<Program>& all) {
  if (weights == micro_batches) all.push_back(program);
  const auto with = [&](Op op, int j, int f, int i, int w) {
    program.push_back({op, stage, j});
    go_on(stage, micro_batches, whole_too, f, i, w, program, all);
    program.pop_back();
  };
  if (forwards < micro_batches) with(Op::Forward, forwards, forwards + 1, inputs, weights);
  if (inputs < forwards) with(Op::BackwardInput, inputs, forwards, inputs + 1, weights);
  if (weights < inputs) with(Op::BackwardWeight, weights, forwards, inputs, weights + 1);
  if (whole_too && inputs < forwards && weights == inputs) {
    with(Op::Backward, inputs, forwards, inputs + 1, weights + 1);
  }
}

}  // namespace

double best_of_all_orders(const SearchProblem& problem) {
  const StepWork work = work_of(problem);
  StepTimer evaluation(work);
  std::vector<std::vector<Program>> orders(problem.ranks);
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const StageTimes& times = problem.costs.stage[rank];
    const bool whole_too = times.backward < times.backward_input + times.backward_weight;
    Program program;
    go_on(rank, problem.micro_batches, whole_too, 0, 0, 0, program, orders[rank]);
  }
  double best = StepTimer::kNever;
  std::vector<size_t> chosen(problem.ranks, 0);
  Programs programs(problem.ranks);
  for (int rank = 0; rank < problem.ranks; ++rank) programs[rank] = orders[rank][0];
  for (int rank = 0; rank < problem.ranks;) {
    best = std::min(best, evaluation.makespan(programs));
    // Counts on, like the wheels of a mileage counter.
    for (rank = 0; rank < problem.ranks; ++rank) {
      chosen[rank] = (chosen[rank] + 1) % orders[rank].size();
      programs[rank] = orders[rank][chosen[rank]];
      if (chosen[rank] != 0) break;
    }
  }
  return best;
}

}  // namespace penstock
