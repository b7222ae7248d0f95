// Shards go from the largest to the smallest, each to the replica with the fewest bytes so far.
#include "runtime/planning/plan/memory/checkpoint_memory.h"

#include <algorithm>

namespace penstock {
namespace {

struct PlannedShard {
  int64_t bytes = 0;
  bool is_state = false;
};

// A run may take this many times as long as its steps are predicted to.
constexpr double kSlower = 4;

bool copies_while_training(const Upkeep& upkeep, double step_s) {
  if (upkeep.checkpoint_steps < upkeep.steps) return true;
  return step_s > 0 && kSlower * step_s * upkeep.steps > upkeep.checkpoint_s;
}

}  // namespace

SavedBytes saved_bytes(const std::vector<const LayerCost*>& layers, int replicas) {
  std::vector<PlannedShard> shards;
  for (const LayerCost* layer : layers) {
    if (layer->saved_weight_bytes > 0) shards.push_back({layer->saved_weight_bytes, false});
  }
  for (const LayerCost* layer : layers) {
    if (layer->saved_state_bytes > 0) shards.push_back({layer->saved_state_bytes, true});
  }
  std::ranges::stable_sort(shards, std::ranges::greater(), &PlannedShard::bytes);
  SavedBytes saved{std::vector<int64_t>(replicas, 0), std::vector<int64_t>(replicas, 0)};
  for (const PlannedShard& shard : shards) {
    const auto least = std::ranges::min_element(saved.all);
    *least += shard.bytes;
    if (shard.is_state) saved.states[least - saved.all.begin()] += shard.bytes;
  }
  return saved;
}

std::vector<int64_t> snapshot_bytes(const SavedBytes& saved, const Arrangement& candidate,
                                    double step_s) {
  if (copies_while_training(candidate.upkeep, step_s)) return saved.all;
  if (candidate.shared && candidate.replicas > 1) return saved.states;
  return std::vector<int64_t>(saved.all.size(), 0);
}

}  // namespace penstock
