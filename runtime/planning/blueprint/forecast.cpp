#include "runtime/planning/blueprint/forecast.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/costs/interconnects.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"

namespace penstock {
namespace {

double step_flops(const ModelCosts& costs, const PipelineConfig& pipeline) {
  double forward = 0;
  for (const LayerCost& layer : costs.layers) forward += layer.forward_flops;
  return 3.0 * forward * static_cast<double>(pipeline.micro_batches) *
         static_cast<double>(pipeline.replicas);
}

int64_t fullest(const std::vector<RankMemory>& memory) {
  int64_t most = 0;
  for (const RankMemory& rank : memory) most = std::max(most, rank.total());
  return most;
}

// The bytes of the fullest rank that audits take.
int64_t audit_bytes(const Prediction& prediction, Arrangement candidate, const Schedule& schedule,
                    const ModelCosts& costs, const Cluster& cluster) {
  candidate.audit = 0;
  std::vector<RankMemory> without =
      fullest_memory(candidate, schedule, costs, cluster, transport_of(cluster, schedule));
  for (size_t r = 0; r < without.size(); ++r) without[r].snapshot = prediction.memory[r].snapshot;
  return fullest(prediction.memory) - fullest(without);
}

}  // namespace

// Returns what the copies in memory cost. The replicas share the work: each element is copied by
// one replica alone.
CopyCosts copy_costs(const Prediction& prediction, const Arrangement& candidate,
                     const Cluster& cluster) {
  CopyCosts costs;
  double of_pipeline = 0;
  for (const RankMemory& memory : prediction.memory) {
    costs.bytes.push_back(memory.copy());
    of_pipeline += static_cast<double>(costs.bytes.back());
  }
  const int ranks = candidate.ranks();
  if (cluster.ranks_per_node > 0 && cluster.ranks_per_node < ranks * candidate.replicas) {
    costs.network_s =
        of_pipeline / ranks * cluster.ranks_per_node * cluster.between_nodes.seconds_per_byte;
  }
  return costs;
}

Cluster cluster_of_run(const RunConfig& run, const Devices& devices, int ranks_per_node) {
  Cluster cluster = cluster_of(devices, ranks_per_node);
  if (run.dry_run) cluster.cards = kDryRunCards;
  return cluster;
}

SafeguardCosts safeguard_costs(const Config& config, const Prediction& prediction,
                               const Arrangement& candidate, const Schedule& schedule,
                               const ModelCosts& costs, const Cluster& cluster) {
  SafeguardCosts safeguards{.step = prediction.step};
  if (candidate.audit > 0) {
    safeguards.audit_bytes = audit_bytes(prediction, candidate, schedule, costs, cluster);
  }
  if (config.checkpoint.partner) {
    safeguards.copies = copy_costs(prediction, candidate, cluster);
  }
  return safeguards;
}

Forecast forecast(const Config& config, const Blueprint& blueprint, const Devices& devices,
                  int ranks_per_node) {
  try {
    const std::shared_ptr<const Sequential> not_owned(std::shared_ptr<void>(), &blueprint.model);
    const auto costs = costs_by_cut(config, not_owned, blueprint.input, devices);
    const Arrangement candidate = arrangement_of_run(config, blueprint.layout.split());
    const Cluster cluster = cluster_of_run(config.run, devices, ranks_per_node);
    const ModelCosts layers = costs(candidate.cut());
    Forecast ahead{.prediction = predict(candidate, blueprint.programs.training, layers, cluster),
                   .basis = devices.basis,
                   .step_flops = step_flops(layers, config.pipeline)};
    if (!cluster.devices.empty()) {
      Cluster said = cluster;  // what a real device of this run has is looked up where it is
      if (!config.run.dry_run) said.memory_bytes = 0;
      ahead.lacks = lack_of_memory(ahead.prediction.memory, memory_limits(candidate, said));
    }
    ahead.safeguards = safeguard_costs(config, ahead.prediction, candidate,
                                       blueprint.programs.training, layers, cluster);
    return ahead;
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

}  // namespace penstock
