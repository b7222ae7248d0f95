// Placements of stages on ranks.
#include "runtime/planning/schedule/generators/placement.h"

#include <algorithm>

#include "runtime/planning/schedule/well_formed.h"

namespace penstock {

Schedule looped(int ranks, int chunks, int micro_batches) {
  check_sizes(ranks, chunks, micro_batches);
  Schedule schedule{.ranks = ranks,
                    .stages = ranks * chunks,
                    .micro_batches = micro_batches,
                    .rank_of_stage = {},
                    .program = {}};
  for (int stage = 0; stage < schedule.stages; ++stage) {
    schedule.rank_of_stage.push_back(stage % ranks);
  }
  schedule.program.resize(ranks);
  return schedule;
}

Schedule folded(int ranks, int micro_batches) {
  Schedule schedule = looped(ranks, 2, micro_batches);
  std::reverse(schedule.rank_of_stage.begin() + ranks, schedule.rank_of_stage.end());
  return schedule;
}

Schedule placed(const std::vector<int>& rank_of_stage, int micro_batches) {
  Schedule schedule{.ranks = static_cast<int>(stages_held(rank_of_stage).size()),
                    .stages = static_cast<int>(rank_of_stage.size()),
                    .micro_batches = micro_batches,
                    .rank_of_stage = rank_of_stage,
                    .program = {}};
  schedule.program.resize(schedule.ranks);
  check_well_formed(schedule);
  return schedule;
}

std::vector<int> stages_held(const std::vector<int>& rank_of_stage) {
  std::vector<int> held;
  for (const int rank : rank_of_stage) {
    if (rank >= static_cast<int>(held.size())) held.resize(rank + 1, 0);
    ++held[rank];
  }
  return held;
}

bool holds_equally_many(const std::vector<int>& rank_of_stage) {
  const std::vector<int> held = stages_held(rank_of_stage);
  return std::ranges::count(held, held.front()) == std::ssize(held);
}

}  // namespace penstock
