// runtime/planning/schedule/search/problem.h -- SearchProblem: what a schedule is searched for:
// which rank holds which stage, how long each pass of each stage and each message takes, and how
// many bytes a rank may hold.
//
// search() (search.h) takes a problem and gives an order; bound.h says how short a step of any
// order can be at best. Both count a step as simulate() (schedule/timing) counts a lowered schedule
// with these costs, from its beginning to the end of the last compute instruction. Sums over
// replicas, updates and skip connections are not part of the problem.
//
// Every function of this folder (runtime/planning/schedule/search) throws std::invalid_argument,
// with a full sentence, for arguments that make no sense. The folder includes the schedule room
// alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// The bytes that one micro-batch of one stage holds on its rank.
struct HeldBytes {
  int64_t until_input = 0;   // from the beginning of its Forward to the end of its input half
  int64_t until_weight = 0;  // from there to the end of its weight half; at most until_input
};

struct SearchProblem {
  int ranks = 1;
  int micro_batches = 1;
  std::vector<int> rank_of_stage = {};  // by stage; every rank holds one at least
  // Read are `stage`, `boundary_bytes`, the two links between stages, `node_of_rank` and
  // `boundary_link`.
  PipelineCosts costs = {};
  bool recompute = false;            // a Recompute before the backward of every micro-batch
  std::vector<HeldBytes> held = {};  // by stage; empty: nothing is held
  std::vector<int64_t> limit = {};   // by rank: the most bytes held at once; empty: no limit
};

// The most cells, stages x micro-batches, of a problem: with more a search takes minutes.
inline constexpr int kMostSearchedCells = 1 << 17;
// Throws for sizes below 1 or with more cells. check_problem() does it, too.
void check_searched_sizes(int stages, int micro_batches);

// Throws for sizes, placements, times and bytes that make no sense, and for a limit that not even
// one micro-batch at a time fits in; the message names stage or rank, and the bytes short.
void check_problem(const SearchProblem& problem);

// The first thing in which `now` is not like `before`, of the same placement, as a clause: the
// number of micro-batches, recomputes, nodes, or a time of a stage or of a message that differs by
// more than the share `tolerance` of the longer one; empty: there is none. Bytes held and limits
// are not compared.
[[nodiscard]] std::string difference(const SearchProblem& before, const SearchProblem& now,
                                     double tolerance);

// A schedule of the problem's sizes and placement with these programs, by rank.
[[nodiscard]] Schedule schedule_of(const SearchProblem& problem,
                                   std::vector<std::vector<Instruction>> programs);

// The length of a step by simulate(), after lower() and verify(). Throws what these throw.
[[nodiscard]] double proved_makespan(const SearchProblem& problem, const Schedule& schedule);

// The result is by rank: the most bytes that the schedule holds at once.
[[nodiscard]] std::vector<int64_t> peak_held(const SearchProblem& problem,
                                             const Schedule& schedule);

}  // namespace penstock
