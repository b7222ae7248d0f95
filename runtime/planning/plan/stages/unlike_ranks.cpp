// Kinds, costs and memory of the ranks of one candidate.
#include "runtime/planning/plan/stages/unlike_ranks.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/planning/partition/partition.h"

namespace penstock {
namespace {

void check_devices(const Arrangement& candidate, const Cluster& cluster) {
  const int ranks = candidate.ranks() * candidate.replicas;
  if (!cluster.links.empty() && std::ssize(cluster.links.group_of_rank) != ranks) {
    throw std::invalid_argument("there are links of " +
                                std::to_string(cluster.links.group_of_rank.size()) +
                                " ranks, and " + std::to_string(ranks) + " take part");
  }
  if (cluster.devices.empty() || std::ssize(cluster.devices) == ranks) return;
  throw std::invalid_argument("there are devices of " + std::to_string(cluster.devices.size()) +
                              " ranks, and " + std::to_string(ranks) + " take part");
}

// How long one micro-batch takes on one device.
double network_seconds(const ModelCosts& costs) {
  double seconds = 0;
  for (const LayerCost& layer : costs.layers) seconds += layer.forward_s + layer.backward_s;
  return seconds;
}

}  // namespace

StageKinds kinds_of_replica(const Arrangement& candidate, const Schedule& schedule,
                            const Cluster& cluster, int replica) {
  check_devices(candidate, cluster);
  StageKinds kinds(schedule.stages, 0);
  if (cluster.devices.empty()) return kinds;
  for (int s = 0; s < schedule.stages; ++s) {
    kinds[s] = cluster.devices[candidate.world_rank(schedule.rank_of_stage[s], replica)].kind;
  }
  return kinds;
}

std::vector<StageKinds> distinct_kinds(const Arrangement& candidate, const Schedule& schedule,
                                       const Cluster& cluster) {
  std::vector<StageKinds> distinct;
  const int replicas = cluster.devices.empty() ? 1 : candidate.replicas;
  for (int replica = 0; replica < replicas; ++replica) {
    StageKinds kinds = kinds_of_replica(candidate, schedule, cluster, replica);
    if (std::ranges::find(distinct, kinds) == distinct.end()) distinct.push_back(std::move(kinds));
  }
  return distinct;
}

StageKinds slowest_kinds(const Arrangement& candidate, const Schedule& schedule,
                         const ModelCosts& costs, const Cluster& cluster) {
  const std::vector<StageKinds> replicas = distinct_kinds(candidate, schedule, cluster);
  StageKinds slowest = replicas.front();
  if (replicas.size() == 1) return slowest;
  std::vector<double> seconds = {network_seconds(costs)};
  for (const ModelCosts& other : costs.others) seconds.push_back(network_seconds(other));
  for (const StageKinds& kinds : replicas) {
    for (size_t s = 0; s < kinds.size(); ++s) {
      if (seconds.at(kinds[s]) > seconds.at(slowest[s])) slowest[s] = kinds[s];
    }
  }
  return slowest;
}

std::shared_ptr<const ModelCosts> placed_costs(const ModelCosts& costs,
                                               const std::vector<int>& split,
                                               const StageKinds& kinds) {
  const bool usual = std::ranges::all_of(kinds, [](int kind) { return kind == 0; });
  if (usual) return {std::shared_ptr<void>(), &costs};  // not owned
  const std::vector<int64_t> given(split.begin(), split.end());
  (void)check_split(given, static_cast<int>(costs.layers.size()), static_cast<int>(kinds.size()));
  ModelCosts placed = costs;
  placed.others.clear();
  size_t layer = 0;
  for (size_t s = 0; s < kinds.size(); ++s) {
    const ModelCosts& here = costs.of_kind(kinds[s]);
    for (int l = 0; l < split[s]; ++l, ++layer) placed.layers[layer] = here.layers[layer];
    placed.library_bytes = std::max(placed.library_bytes, here.library_bytes);
  }
  return std::make_shared<const ModelCosts>(std::move(placed));
}

std::vector<int64_t> memory_limits(const Arrangement& candidate, const Cluster& cluster) {
  check_devices(candidate, cluster);
  std::vector<int64_t> limits(candidate.ranks(), cluster.memory_bytes);
  if (cluster.devices.empty()) return limits;
  for (int position = 0; position < candidate.ranks(); ++position) {
    int64_t least = 0;
    for (int replica = 0; replica < candidate.replicas; ++replica) {
      const RankDevice& device = cluster.devices[candidate.world_rank(position, replica)];
      const int64_t bytes = device.memory_bytes > 0 ? device.memory_bytes : cluster.memory_bytes;
      if (bytes > 0 && (least == 0 || bytes < least)) least = bytes;
    }
    limits[position] = least;
  }
  return limits;
}

std::vector<RankMemory> fullest_memory(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, const Cluster& cluster,
                                       const TransportRules& rules, ByteCurve* curve) {
  std::vector<RankMemory> fullest;
  for (const StageKinds& kinds : distinct_kinds(candidate, schedule, cluster)) {
    const auto placed = placed_costs(costs, candidate.split, kinds);
    const bool first = fullest.empty();
    std::vector<RankMemory> memory =
        predict_memory(candidate, schedule, *placed, rules, first ? curve : nullptr);
    if (first) fullest = memory;
    for (size_t r = 0; r < memory.size(); ++r) {
      if (memory[r].total() > fullest[r].total()) fullest[r] = std::move(memory[r]);
    }
  }
  return fullest;
}

}  // namespace penstock
