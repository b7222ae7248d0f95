#include "runtime/planning/blueprint/forecast.h"

#include <memory>
#include <stdexcept>

#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/costs/interconnects.h"

namespace penstock {
namespace {

double step_flops(const ModelCosts& costs, const PipelineConfig& pipeline) {
  double forward = 0;
  for (const LayerCost& layer : costs.layers) forward += layer.forward_flops;
  return 3.0 * forward * static_cast<double>(pipeline.micro_batches) *
         static_cast<double>(pipeline.replicas);
}

}  // namespace

// Each element is copied once over all replicas.
CopyCosts copy_costs(const Prediction& prediction, const Arrangement& candidate,
                     const Cluster& cluster) {
  CopyCosts costs;
  double of_pipeline = 0;
  for (const RankMemory& memory : prediction.memory) {
    costs.bytes.push_back(memory.copy(candidate.replicas, candidate.shared));
    of_pipeline += static_cast<double>(costs.bytes.back());
  }
  const int ranks = candidate.ranks();
  if (cluster.ranks_per_node > 0 && cluster.ranks_per_node < ranks * candidate.replicas) {
    costs.network_s =
        of_pipeline / ranks * cluster.ranks_per_node * cluster.between_nodes.seconds_per_byte;
  }
  return costs;
}

Cluster cluster_of_run(const RunConfig& run, const DeviceModel& device, const Profile* profile,
                       int ranks_per_node) {
  Cluster cluster = cluster_of(device, profile, ranks_per_node);
  if (run.dry_run) cluster.cards = kDryRunCards;
  return cluster;
}

Forecast forecast(const Config& config, const Blueprint& blueprint, const DeviceModel& device,
                  const Profile* profile, int ranks_per_node) {
  try {
    const std::shared_ptr<const Sequential> not_owned(std::shared_ptr<void>(), &blueprint.model);
    const auto costs = costs_by_cut(config, not_owned, blueprint.input, device, profile);
    Arrangement candidate = arrangement_of(config.pipeline);
    candidate.split = blueprint.layout.split();
    candidate.barrier = config.optimizer.barrier;
    candidate.audit = config.run.audit;
    candidate.shared = config.optimizer.is_shared_by(candidate.replicas);
    const Cluster cluster = cluster_of_run(config.run, device, profile, ranks_per_node);
    const ModelCosts layers = costs(candidate.cut());
    Forecast ahead{
        predict(candidate, blueprint.programs.training, layers, cluster),
        profile == nullptr ? "counted for " + device.name : "measured: " + config.pipeline.profile,
        step_flops(layers, config.pipeline)};
    if (config.checkpoint.partner) {
      ahead.copies = copy_costs(ahead.prediction, candidate, cluster);
    }
    return ahead;
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

}  // namespace penstock
