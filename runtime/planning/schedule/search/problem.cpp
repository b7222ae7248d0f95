// Checks of a problem, and the figures of a schedule by the schedule room's own means.
#include "runtime/planning/schedule/search/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/timing/simulate.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

[[noreturn]] void refuse_problem(const std::string& message) {
  throw std::invalid_argument(message);
}

// The most bytes of a cell: sums over all cells of a schedule stay in 64 bits with it.
constexpr int64_t kMostHeld = 100'000'000'000;
static_assert(kMostHeld < std::numeric_limits<int64_t>::max() / kMaxCells);

void check_number(size_t given, size_t wanted, const char* what) {
  if (given == wanted) return;
  refuse_problem("there are " + std::to_string(given) + " " + what + " instead of " +
                 std::to_string(wanted));
}

void check_held(const SearchProblem& problem) {
  if (problem.held.empty()) return;
  check_number(problem.held.size(), problem.rank_of_stage.size(), "stages with bytes held");
  for (size_t stage = 0; stage < problem.held.size(); ++stage) {
    const auto [input, weight] = problem.held[stage];
    if (weight >= 0 && weight <= input && input <= kMostHeld) continue;
    refuse_problem("stage " + std::to_string(stage) + " holds " + std::to_string(input) +
                   " bytes until its input half and " + std::to_string(weight) +
                   " until its weight half; bytes are 0 to " + std::to_string(kMostHeld) +
                   ", and the second no more than the first");
  }
}

void check_limits(const SearchProblem& problem) {
  if (problem.limit.empty()) return;
  check_number(problem.limit.size(), static_cast<size_t>(problem.ranks), "limits of ranks");
  for (int rank = 0; rank < problem.ranks; ++rank) {
    int64_t least = 0;
    for (size_t stage = 0; stage < problem.held.size(); ++stage) {
      if (problem.rank_of_stage[stage] == rank) least += problem.held[stage].until_input;
    }
    if (least <= problem.limit[rank]) continue;
    refuse_problem("nothing fits: rank " + std::to_string(rank) + " holds " +
                   std::to_string(least) + " bytes with one micro-batch at a time, " +
                   std::to_string(least - problem.limit[rank]) + " more than its limit");
  }
}

}  // namespace

void check_searched_sizes(int stages, int micro_batches) {
  check_sizes(stages, 1, micro_batches);
  if (static_cast<int64_t>(stages) * micro_batches <= kMostSearchedCells) return;
  refuse_problem("a schedule of " + std::to_string(stages) + " stages x " +
                 std::to_string(micro_batches) + " micro-batches is too large to be searched: at " +
                 "most " + std::to_string(kMostSearchedCells) + " of them are possible");
}

void check_problem(const SearchProblem& problem) {
  check_searched_sizes(static_cast<int>(problem.rank_of_stage.size()), problem.micro_batches);
  const Schedule schedule =
      schedule_of(problem, std::vector<std::vector<Instruction>>(std::max(0, problem.ranks)));
  check_well_formed(schedule);
  check_costs(problem.costs, schedule);
  check_held(problem);
  check_limits(problem);
}

std::string difference(const SearchProblem& before, const SearchProblem& now, double tolerance) {
  const PipelineCosts& a = before.costs;
  const PipelineCosts& b = now.costs;
  if (before.micro_batches != now.micro_batches) {
    return "it is for " + std::to_string(before.micro_batches) + " micro-batches";
  }
  if (before.recompute != now.recompute) {
    return before.recompute ? "it recomputes" : "it recomputes nothing";
  }
  if (a.node_of_rank != b.node_of_rank) return "ranks lie on other nodes";
  const auto differs = [tolerance](double then, double here) {
    return std::abs(then - here) > tolerance * std::max(then, here);
  };
  for (size_t s = 0; s < a.stage.size(); ++s) {
    const StageTimes& then = a.stage[s];
    const StageTimes& here = b.stage[s];
    if (differs(then.forward, here.forward) || differs(then.recompute, here.recompute) ||
        differs(then.backward_input, here.backward_input) ||
        differs(then.backward_weight, here.backward_weight) ||
        differs(then.backward, here.backward)) {
      return "stage " + std::to_string(s) + " takes another time";
    }
  }
  const auto other_link = [&](const LinkTimes& then, const LinkTimes& here) {
    return then.receiver_copies != here.receiver_copies || differs(then.latency, here.latency) ||
           differs(then.overhead, here.overhead) ||
           differs(then.seconds_per_byte, here.seconds_per_byte);
  };
  const bool bytes = !std::equal(a.boundary_bytes.begin(), a.boundary_bytes.end(),
                                 b.boundary_bytes.begin(), b.boundary_bytes.end(),
                                 [&](double then, double here) { return !differs(then, here); });
  const bool links =
      !std::equal(a.boundary_link.begin(), a.boundary_link.end(), b.boundary_link.begin(),
                  b.boundary_link.end(),
                  [&](const auto& then, const auto& here) { return !other_link(then, here); });
  if (bytes || links || other_link(a.within_node, b.within_node) ||
      (!a.node_of_rank.empty() && other_link(a.between_nodes, b.between_nodes))) {
    return "messages take another time";
  }
  return "";
}

Schedule schedule_of(const SearchProblem& problem, std::vector<std::vector<Instruction>> programs) {
  return {.ranks = problem.ranks,
          .stages = static_cast<int>(problem.rank_of_stage.size()),
          .micro_batches = problem.micro_batches,
          .rank_of_stage = problem.rank_of_stage,
          .program = std::move(programs)};
}

double proved_makespan(const SearchProblem& problem, const Schedule& schedule) {
  const Schedule lowered = lower(schedule, {.recompute = problem.recompute});
  (void)verify(lowered);
  double end = 0;
  for (const auto& rank : simulate(lowered, problem.costs).rank) {
    if (!rank.empty()) end = std::max(end, rank.back().end);
  }
  return end;
}

std::vector<int64_t> peak_held(const SearchProblem& problem, const Schedule& schedule) {
  std::vector<int64_t> peaks(schedule.program.size(), 0);
  if (problem.held.empty()) return peaks;
  for (size_t rank = 0; rank < peaks.size(); ++rank) {
    int64_t bytes = 0;
    for (const Instruction& instruction : schedule.program[rank]) {
      const auto [input, weight] = problem.held[instruction.stage];
      if (instruction.op == Op::Forward) bytes += input;
      if (instruction.op == Op::Backward) bytes -= input;
      if (instruction.op == Op::BackwardInput) bytes -= input - weight;
      if (instruction.op == Op::BackwardWeight) bytes -= weight;
      peaks[rank] = std::max(peaks[rank], bytes);
    }
  }
  return peaks;
}

}  // namespace penstock
