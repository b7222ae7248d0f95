// runtime/planning/schedule/search/search.h -- search(): finds a schedule with a short step for
// unlike stages, ranks and links under a limit of bytes.
//
// It begins with all generators (schedule/generators) and with greedy orders of many policies
// (greedy.h), changes the best policy (policies.h), and improves the best orders (improve.h); where
// a problem is small it tries all orders (exact.h). Its answer depends on the problem and the seed
// alone unless the clock ends it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/planning/schedule/search/problem.h"

namespace penstock {

struct SearchEffort {
  uint64_t seed = 1;
  // How many instructions are timed in all the steps that are tried. This many take some seconds.
  int64_t instructions = 100'000'000;
  double seconds = 10;  // of a clock, after which the best so far is the answer
};

struct Found {
  Schedule schedule;      // compute instructions alone, which lower() completes
  double makespan = 0;    // proved_makespan()
  std::string generator;  // the best generator that fits, and its step; empty: none fits
  double generator_makespan = 0;
  double bound = 0;  // no order has a shorter step (bound.h, exact.h)
  bool ended_by_clock = false;
};

// Throws what check_problem() throws.
[[nodiscard]] Found search(const SearchProblem& problem, const SearchEffort& effort = {});

// The rank of each stage in the usual placements: stage s on rank s mod ranks and, with two stages
// on a rank, in a V.
[[nodiscard]] std::vector<std::vector<int>> usual_placements(int ranks, int chunks,
                                                             int micro_batches);

// The best schedule of the usual placements. Sets problem.rank_of_stage to that of the answer. A
// placement that does not fit the limits is left out; throws what check_problem() throws where none
// does. `stages` is their number, of which ranks is a divisor.
[[nodiscard]] Found search_placements(SearchProblem& problem, int stages,
                                      const SearchEffort& effort = {});

// The instructions that decide how long a step of a schedule of compute instructions is, in their
// order: each begins when the one before it, or its message, has ended. Empty: it cannot run, or
// passes a limit.
[[nodiscard]] std::vector<Instruction> longest_path(const SearchProblem& problem,
                                                    const Schedule& schedule);

}  // namespace penstock
