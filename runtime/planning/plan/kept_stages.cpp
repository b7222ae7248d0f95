#include "runtime/planning/plan/kept_stages.h"

#include <algorithm>
#include <set>

#include "runtime/planning/plan/predict.h"
#include "runtime/planning/plan/stages/stage_skips.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"

namespace penstock {
namespace {

// Returns by rank the stages that recompute, the one with the longest forward last.
std::vector<std::vector<int>> recomputing_stages(const Schedule& schedule,
                                                 const PipelineCosts& costs) {
  std::vector<std::vector<int>> stages(schedule.ranks);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    std::set<int> found;
    for (const Instruction& i : schedule.program[rank]) {
      if (i.op == Op::Recompute) found.insert(i.stage);
    }
    stages[rank].assign(found.begin(), found.end());
    std::ranges::stable_sort(stages[rank], {}, [&](int s) { return costs.stage[s].forward; });
  }
  return stages;
}

}  // namespace

// What a rank keeps takes no memory of another, so all ranks try their next stage at once.
std::vector<int> stages_to_keep(const Arrangement& candidate, const ModelCosts& costs,
                                const Cluster& cluster) {
  const std::vector<int64_t> limits = memory_limits(candidate, cluster);
  const std::vector<Skip> skips = stage_skips(candidate.split, costs.skips);
  const Schedule before = schedule_of(candidate, skips);
  std::vector<std::vector<int>> untried =
      recomputing_stages(before, step_costs(candidate, before, costs, cluster));
  std::vector<int> kept;
  while (std::ranges::any_of(untried, [](const auto& stages) { return !stages.empty(); })) {
    Arrangement tried = candidate;
    tried.kept_stages = kept;
    for (const std::vector<int>& stages : untried) {
      if (!stages.empty()) tried.kept_stages.push_back(stages.back());
    }
    std::ranges::sort(tried.kept_stages);
    const Schedule schedule = schedule_of(tried, skips);
    const std::vector<RankMemory> memory =
        fullest_memory(tried, schedule, costs, cluster, transport_of(cluster, schedule));
    for (size_t rank = 0; rank < untried.size(); ++rank) {
      std::vector<int>& stages = untried[rank];
      if (stages.empty()) continue;
      if (limits[rank] == 0 || memory[rank].total() <= limits[rank]) kept.push_back(stages.back());
      stages.pop_back();
    }
  }
  std::ranges::sort(kept);
  return kept;
}

}  // namespace penstock
