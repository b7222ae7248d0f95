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

}  // namespace penstock
