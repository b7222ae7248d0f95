// Splits that fit: the partitioner's sums, corrected by the exact peaks.
#include "runtime/planning/plan/split.h"

#include <algorithm>
#include <limits>

#include "runtime/planning/partition/limited.h"
#include "runtime/planning/plan/stages/stage_costs.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"
#include "runtime/planning/schedule/generators/placement.h"
#include "runtime/planning/schedule/proof/stash.h"

namespace penstock {
namespace {

constexpr int kCorrections = 4;

LayerLoads layer_loads(const Arrangement& candidate, const ModelCosts& costs, bool halves) {
  LayerLoads loads;
  const bool again = candidate.recompute == "layer";
  for (const LayerCost& layer : costs.layers) {
    const double backward =
        halves ? layer.backward_input_s + layer.backward_weight_s : layer.backward_s;
    const double twice = layer.differentiated ? layer.forward_s : 0;
    loads.time.push_back(layer.forward_s + backward + (again ? twice : 0));
    loads.recompute.push_back(again ? 0 : twice);
    loads.fixed.push_back(static_cast<double>(layer.parameter_bytes +
                                              layer.gradient_bytes * candidate.gradient_copies() +
                                              layer.workspace_bytes) +
                          static_cast<double>(updated_bytes(layer, candidate)) *
                              candidate.update_share());
    loads.tape.push_back(static_cast<double>(layer.tape_bytes));
    loads.input.push_back(static_cast<double>(layer.input_bytes));
  }
  return loads;
}

// What the ranks' memory is counted against: `bytes`, the largest of their limits. A byte weighs
// the more on a rank the less memory it has, and nothing on a rank without a limit.
struct MemoryScale {
  double bytes = std::numeric_limits<double>::infinity();
  std::vector<double> weights = {};  // by rank
};

MemoryScale memory_scale(const std::vector<int64_t>& limits) {
  const int64_t largest = std::ranges::max(limits);
  if (largest == 0) return {.weights = std::vector<double>(limits.size(), 1.0)};
  MemoryScale scale{.bytes = static_cast<double>(largest)};
  for (const int64_t limit : limits) {
    scale.weights.push_back(limit > 0 ? scale.bytes / static_cast<double>(limit) : 0.0);
  }
  return scale;
}

std::vector<StageLoads> stage_loads(const Arrangement& candidate, const Schedule& schedule,
                                    const StageKinds& kinds, const MemoryScale& scale) {
  std::vector<bool> recomputes(schedule.stages, false);
  for (const auto& program : schedule.program) {
    for (const Instruction& i : program) {
      if (i.op == Op::Recompute) recomputes[i.stage] = true;
    }
  }
  const std::vector<HeldStashes> at_peak = stashes_at_peak(schedule);
  const std::vector<int> on_rank = stages_held(schedule.rank_of_stage);
  std::vector<StageLoads> loads;
  for (int s = 0; s < schedule.stages; ++s) {
    const int held = at_peak[s].whole;
    const int rank = schedule.rank_of_stage[s];
    // A rank that holds more stages than the mean has less time for each.
    const double pace = static_cast<double>(on_rank[rank]) * schedule.ranks / schedule.stages;
    StageLoads stage{.rank = rank,
                     .kind = kinds[s],
                     .recomputes = recomputes[s],
                     .pace = pace,
                     .weight = scale.weights[rank]};
    const bool layer = candidate.recompute == "layer";
    stage.tapes = layer ? 0 : recomputes[s] ? 1 : held;
    stage.inputs = layer ? held : 0;
    stage.stashes = recomputes[s] && !layer ? held : 0;
    loads.push_back(stage);
  }
  return loads;
}

// Bytes that the partitioner counts for each rank.
std::vector<double> counted(const std::vector<LayerLoads>& kinds,
                            const std::vector<StageLoads>& stages, const std::vector<int>& split,
                            int ranks) {
  std::vector<double> bytes(ranks, 0.0);
  int begin = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    const LayerLoads& layers = kinds[stages[s].kind];
    double& rank = bytes[stages[s].rank];
    rank += stages[s].stashes * layers.input[begin] + stages[s].extra;
    for (int l = begin; l < begin + split[s]; ++l) {
      rank +=
          layers.fixed[l] + stages[s].tapes * layers.tape[l] + stages[s].inputs * layers.input[l];
    }
    begin += split[s];
  }
  return bytes;
}

}  // namespace

ChosenSplit choose_split(const Arrangement& candidate, const Schedule& schedule,
                         const ModelCosts& costs, const Cluster& cluster,
                         const TransportRules& rules) {
  const bool halves = std::any_of(schedule.program[0].begin(), schedule.program[0].end(),
                                  [](const Instruction& i) { return i.op == Op::BackwardWeight; });
  std::vector<LayerLoads> kinds = {layer_loads(candidate, costs, halves)};
  for (const ModelCosts& other : costs.others) {
    kinds.push_back(layer_loads(candidate, other, halves));
  }
  const std::vector<int64_t> limits = memory_limits(candidate, cluster);
  const MemoryScale scale = memory_scale(limits);
  std::vector<StageLoads> stages =
      stage_loads(candidate, schedule, slowest_kinds(candidate, schedule, costs, cluster), scale);
  const std::vector<int> held = stages_held(schedule.rank_of_stage);
  ChosenSplit chosen;
  Arrangement tried = candidate;
  for (int round = 0; round < kCorrections; ++round) {
    const LimitedSplit found = balance_within(kinds, stages, scale.bytes);
    tried.split = found.split;
    std::vector<RankMemory> memory = fullest_memory(tried, schedule, costs, cluster, rules);
    std::string reason = lack_of_memory(memory, limits);
    // How full the fullest rank is.
    const auto fullest = [&](const std::vector<RankMemory>& of) {
      double most = 0;
      for (size_t r = 0; r < of.size(); ++r) {
        most = std::max(most, scale.weights[r] * static_cast<double>(of[r].total()));
      }
      return most;
    };
    if (round == 0 || reason.empty() || fullest(memory) < fullest(chosen.memory)) {
      chosen = {found.split, found.bottleneck, reason.empty(), reason, memory};
    }
    if (chosen.fits || !found.fits) break;
    const std::vector<double> known = counted(kinds, stages, tried.split, schedule.ranks);
    for (StageLoads& stage : stages) {
      const double missing = static_cast<double>(memory[stage.rank].total()) - known[stage.rank];
      stage.extra += std::max(0.0, missing) / held[stage.rank];
    }
  }
  return chosen;
}

}  // namespace penstock
