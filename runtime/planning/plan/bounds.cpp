#include "runtime/planning/plan/bounds.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/planning/plan/stages/stage_costs.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"

namespace penstock {
namespace {

// Seconds for which a card is busy with what one half of all sums (costs.h) moves, on the average
// over the cards; 0 where no card is shared.
double half_sums_on_card(const Arrangement& candidate, const ModelCosts& costs,
                         const Cluster& cluster) {
  const int each = cluster.ranks_per_node;
  const int replicas = candidate.replicas;
  const int ranks = candidate.ranks() * replicas;
  if (cluster.cards == 0 || each <= 0 || each >= ranks || replicas == 1) return 0;
  // The most replicas of a stage that may be on one node; the others are away from each of them.
  const int near = candidate.placement == "stages"
                       ? std::min(replicas, (each + candidate.ranks() - 1) / candidate.ranks())
                       : std::min(replicas, each);
  double bytes = 0;
  for (const LayerCost& layer : costs.layers) bytes += static_cast<double>(layer.gradient_bytes);
  const int nodes = (ranks + each - 1) / each;
  return bytes * (replicas - near) / nodes / cluster.cards * cluster.between_nodes.seconds_per_byte;
}

double backward_of(const StageTimes& times) {
  return std::min(times.backward, times.backward_input + times.backward_weight);
}

// Seconds that a layer takes at least on a micro-batch. A recompute that the last stage may do
// without is left out.
double least_pass(const Arrangement& candidate, const LayerCost& layer) {
  const bool again = candidate.recompute == "layer" && layer.differentiated;
  return layer.forward_s +
         std::min(layer.backward_s, layer.backward_input_s + layer.backward_weight_s) +
         (again ? layer.forward_s : 0);
}

// How much a kind takes of a step's layers in the time in which kind 0 takes one of them, at the
// most: by the layer that it is best at.
double most_speed(const Arrangement& candidate, const ModelCosts& costs, int kind) {
  if (kind == 0) return 1;
  const auto step_s = [&](const LayerCost& layer) {
    return candidate.micro_batches * least_pass(candidate, layer) +
           layer.update_s * candidate.update_share();
  };
  const ModelCosts& others = costs.of_kind(kind);
  double most = 0;
  for (size_t l = 0; l < costs.layers.size(); ++l) {
    const double usual = step_s(costs.layers[l]);
    const double here = step_s(others.layers[l]);
    if (usual > 0) most = std::max(most, usual / here);
  }
  return most;
}

// Says as how many ranks of kind 0 those of a pipeline count at the most. A rank waits for the
// replica in which its position is slowest.
double worth_of_ranks(const Arrangement& candidate, const ModelCosts& costs,
                      const Cluster& cluster) {
  if (cluster.devices.empty()) return candidate.ranks();
  std::vector<double> speeds;
  for (int kind = 0; kind <= std::ssize(costs.others); ++kind) {
    speeds.push_back(most_speed(candidate, costs, kind));
  }
  double worth = 0;
  for (int position = 0; position < candidate.ranks(); ++position) {
    double slowest = std::numeric_limits<double>::infinity();
    for (int replica = 0; replica < candidate.replicas; ++replica) {
      const int kind = cluster.devices.at(candidate.world_rank(position, replica)).kind;
      slowest = std::min(slowest, speeds.at(kind));
    }
    worth += slowest;
  }
  return worth;
}

}  // namespace

double least_step(const Arrangement& candidate, const ModelCosts& costs, const Cluster& cluster) {
  double work = 0;
  double update = 0;
  for (const LayerCost& layer : costs.layers) {
    work += least_pass(candidate, layer);
    update += layer.update_s;
  }
  update *= candidate.update_share();
  return std::max(
      (candidate.micro_batches * work + update) / worth_of_ranks(candidate, costs, cluster),
      2 * half_sums_on_card(candidate, costs, cluster));
}

double least_split_step(const Arrangement& candidate, const Schedule& schedule,
                        const ModelCosts& costs, const Cluster& cluster) {
  std::vector<double> work(schedule.ranks, 0.0);
  double first_sum = std::numeric_limits<double>::infinity();
  const auto placed =
      placed_costs(costs, candidate.split, slowest_kinds(candidate, schedule, costs, cluster));
  const StageLayers stages = stage_layers(candidate, *placed);
  for (int s = 0; s < schedule.stages; ++s) {
    const StageTimes times = stage_times(stages[s], candidate.recompute);
    double& rank = work[schedule.rank_of_stage[s]];
    rank += candidate.micro_batches * (times.forward + backward_of(times));
    for (const LayerCost& layer : stages[s]) rank += layer.update_s * candidate.update_share();
    first_sum =
        std::min(first_sum, (candidate.micro_batches - 1) * (times.forward + backward_of(times)));
  }
  const double slowest = *std::ranges::max_element(work);
  if (!candidate.barrier) return slowest;
  // Weights that come late may pass the cards before the first sum.
  const int after = candidate.shared && cluster.late_weights ? 1 : 2;
  return std::max(slowest, first_sum + after * half_sums_on_card(candidate, costs, cluster));
}

}  // namespace penstock
