// Splits that fit: the partitioner's sums, corrected by the exact peaks.
#include "runtime/planning/plan/split.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>

#include "runtime/planning/partition/limited.h"
#include "runtime/planning/plan/stage_costs.h"
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

std::vector<StageLoads> stage_loads(const Arrangement& candidate, const Schedule& schedule) {
  std::vector<bool> recomputes(schedule.stages, false);
  for (const auto& program : schedule.program) {
    for (const Instruction& i : program) {
      if (i.op == Op::Recompute) recomputes[i.stage] = true;
    }
  }
  const std::vector<HeldStashes> at_peak = stashes_at_peak(schedule);
  std::vector<StageLoads> loads;
  for (int s = 0; s < schedule.stages; ++s) {
    const int held = at_peak[s].whole;
    StageLoads stage{.rank = schedule.rank_of_stage[s], .recomputes = recomputes[s]};
    const bool layer = candidate.recompute == "layer";
    stage.tapes = layer ? 0 : recomputes[s] ? 1 : held;
    stage.inputs = layer ? held : 0;
    stage.stashes = recomputes[s] && !layer ? held : 0;
    loads.push_back(stage);
  }
  return loads;
}

// Bytes that the partitioner counts for each rank.
std::vector<double> counted(const LayerLoads& layers, const std::vector<StageLoads>& stages,
                            const std::vector<int>& split, int ranks) {
  std::vector<double> bytes(ranks, 0.0);
  int begin = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
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

// Four digits: enough to tell what is needed from what is there when it is a near miss.
std::string in_words(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.4g %s", size, kUnits[unit]);
  return text;
}

}  // namespace

std::string lack_of_memory(const std::vector<RankMemory>& memory, int64_t memory_bytes) {
  if (memory_bytes <= 0) return "";
  const auto fullest = std::max_element(
      memory.begin(), memory.end(),
      [](const RankMemory& a, const RankMemory& b) { return a.total() < b.total(); });
  if (fullest->total() <= memory_bytes) return "";
  return "needs " + in_words(fullest->total()) + " on rank " +
         std::to_string(fullest - memory.begin()) + ", " + in_words(memory_bytes) + " there";
}

ChosenSplit choose_split(const Arrangement& candidate, const Schedule& schedule,
                         const ModelCosts& costs, int64_t memory_bytes,
                         const TransportRules& rules) {
  const bool halves = std::any_of(schedule.program[0].begin(), schedule.program[0].end(),
                                  [](const Instruction& i) { return i.op == Op::BackwardWeight; });
  const LayerLoads layers = layer_loads(candidate, costs, halves);
  std::vector<StageLoads> stages = stage_loads(candidate, schedule);
  const double limit = memory_bytes > 0 ? static_cast<double>(memory_bytes)
                                        : std::numeric_limits<double>::infinity();
  ChosenSplit chosen;
  Arrangement tried = candidate;
  for (int round = 0; round < kCorrections; ++round) {
    const LimitedSplit found = balance_within(layers, stages, limit);
    tried.split = found.split;
    std::vector<RankMemory> memory = predict_memory(tried, schedule, costs, rules);
    std::string reason = lack_of_memory(memory, memory_bytes);
    const auto fullest = [](const std::vector<RankMemory>& of) {
      int64_t most = 0;
      for (const RankMemory& rank : of) most = std::max(most, rank.total());
      return most;
    };
    if (round == 0 || reason.empty() || fullest(memory) < fullest(chosen.memory)) {
      chosen = {found.split, found.bottleneck, reason.empty(), reason, memory};
    }
    if (chosen.fits || !found.fits) break;
    const std::vector<double> known = counted(layers, stages, tried.split, schedule.ranks);
    const int chunks = schedule.stages / schedule.ranks;
    for (StageLoads& stage : stages) {
      const double missing = static_cast<double>(memory[stage.rank].total()) - known[stage.rank];
      stage.extra += std::max(0.0, missing) / chunks;
    }
  }
  return chosen;
}

}  // namespace penstock
