#include "runtime/planning/blueprint/plan_request.h"

#include <algorithm>
#include <utility>

#include "runtime/planning/blueprint/programs.h"
#include "runtime/planning/costs/countable.h"
#include "runtime/planning/costs/layer_costs.h"
#include "runtime/planning/schedule/recipe.h"

namespace penstock {
namespace {

// Makes all times longer by the inverse of `speed`.
ModelCosts at_speed(ModelCosts costs, double speed) {
  for (LayerCost& layer : costs.layers) {
    for (double* seconds : {&layer.forward_s, &layer.backward_input_s, &layer.backward_weight_s,
                            &layer.backward_s, &layer.update_s}) {
      *seconds /= speed;
    }
  }
  return costs;
}

CostsByCut costs_of_kind(const Config& config, std::shared_ptr<const Sequential> model,
                         const ModelInput& input, const DeviceKind& kind) {
  const DType dtype = config.run.precision == "bf16" ? DType::BF16 : DType::F32;
  const double share = dtype == DType::F32 && config.pipeline.wire == "bf16" ? 0.5 : 1.0;
  const auto counted = [model = std::move(model), input, dtype, optimizer = config.optimizer,
                        device = kind.model, share,
                        samples = mini_batch_of(config.pipeline)](MicroBatches cut) {
    ModelCosts costs = countable(counted_costs(*model, input, cut, dtype, optimizer, device),
                                 std::max<int64_t>(samples / cut.size, 1));
    costs.wire_share = share;
    return costs;
  };
  if (!kind.profile) {
    return
        [counted, speed = kind.speed](MicroBatches cut) { return at_speed(counted(cut), speed); };
  }
  const ModelCosts at_profile = counted({kind.profile->costs.micro_batch_size});
  return
      [counted, at_profile, measured = kind.profile->costs, speed = kind.speed](MicroBatches cut) {
        return at_speed(calibrated(counted(cut), at_profile, measured), speed);
      };
}

}  // namespace

int64_t mini_batch_of(const PipelineConfig& pipeline) {
  if (pipeline.mini_batch > 0) return pipeline.mini_batch;
  return int64_t{pipeline.replicas} * pipeline.micro_batches * pipeline.micro_batch_size;
}

Arrangement arrangement_of(const PipelineConfig& pipeline) {
  Arrangement candidate;
  candidate.stages = pipeline.stages;
  candidate.replicas = pipeline.replicas;
  candidate.chunks = stages_per_rank(pipeline);
  candidate.stage_ranks = listed_placement(pipeline);
  candidate.micro_batches = pipeline.micro_batches;
  candidate.micro_batch_size = pipeline.micro_batch_size;
  candidate.schedule = pipeline.schedule;
  candidate.warm_up = pipeline.warm_up;
  candidate.csv = pipeline.schedule_csv;
  candidate.recompute = pipeline.recompute;
  candidate.kept_stages.assign(pipeline.kept_stages.begin(), pipeline.kept_stages.end());
  candidate.placement = pipeline.placement;
  candidate.exact = pipeline.reduction == "exact";
  candidate.split.assign(pipeline.split.begin(), pipeline.split.end());
  return candidate;
}

Arrangement arrangement_of_run(const Config& config, const std::vector<int>& split) {
  Arrangement candidate = arrangement_of(config.pipeline);
  candidate.split = split;
  candidate.barrier = config.optimizer.barrier;
  candidate.audit = config.run.audit;
  candidate.upkeep = upkeep_of(config);
  candidate.shared = config.optimizer.is_shared_by(candidate.replicas);
  return candidate;
}

Upkeep upkeep_of(const Config& config) {
  const CheckpointConfig& checkpoint = config.checkpoint;
  const RunConfig& run = config.run;
  Upkeep upkeep{.evaluates = !config.data.validation.empty(), .evaluation_batch = run.eval_batch};
  if (run.steps > 0) upkeep.steps = static_cast<double>(run.steps);
  const auto at_step = [&](int64_t every) {
    if (every == 0) return;
    upkeep.checkpoint_steps = std::min(upkeep.checkpoint_steps, static_cast<double>(every));
  };
  at_step(checkpoint.every);
  if (checkpoint.best != "none") at_step(run.eval_every);
  if (checkpoint.every == 0 && checkpoint.minutes > 0) {
    upkeep.checkpoint_s = 60 * checkpoint.minutes;
  }
  return upkeep;
}

void apply(const Arrangement& candidate, PipelineConfig& pipeline) {
  pipeline.stages = candidate.stages;
  pipeline.replicas = candidate.replicas;
  const bool usual = !candidate.stage_ranks.empty() ||
                     candidate.chunks == stages_per_rank(Recipe{.schedule = candidate.schedule});
  pipeline.chunks = usual ? 0 : candidate.chunks;
  pipeline.stage_ranks.assign(candidate.stage_ranks.begin(), candidate.stage_ranks.end());
  pipeline.micro_batches = candidate.micro_batches;
  pipeline.micro_batch_size = candidate.micro_batch_size;
  if (candidate.schedule != pipeline.schedule) pipeline.schedule_csv.clear();
  pipeline.schedule = candidate.schedule;
  pipeline.warm_up = candidate.warm_up;
  pipeline.recompute = candidate.recompute;
  pipeline.kept_stages.assign(candidate.kept_stages.begin(), candidate.kept_stages.end());
  pipeline.placement = candidate.placement;
  pipeline.split.assign(candidate.split.begin(), candidate.split.end());
}

CostsByCut costs_by_cut(const Config& config, const std::shared_ptr<const Sequential>& model,
                        const ModelInput& input, const Devices& devices) {
  std::vector<CostsByCut> kinds;
  for (const DeviceKind& kind : devices.kinds) {
    kinds.push_back(costs_of_kind(config, model, input, kind));
  }
  return [kinds = std::move(kinds)](MicroBatches cut) {
    ModelCosts costs = kinds.front()(cut);
    for (size_t k = 1; k < kinds.size(); ++k) costs.others.push_back(kinds[k](cut));
    return costs;
  };
}

PlanRequest plan_request(const Config& config, int ranks, const Cluster& cluster,
                         CostsByCut costs) {
  const PipelineConfig& pipeline = config.pipeline;
  PlanRequest request;
  request.ranks = ranks;
  request.mini_batch = mini_batch_of(pipeline);
  request.exact = pipeline.reduction == "exact";
  request.barrier = config.optimizer.barrier;
  request.audit = config.run.audit;
  request.upkeep = upkeep_of(config);
  request.shared = config.optimizer.sharded != "false";
  request.cluster = cluster;
  request.costs = std::move(costs);
  return request;
}

void pin_whole_pipeline(const PipelineConfig& pipeline, PlanRequest& plan) {
  const Arrangement given = arrangement_of(with_known_schedule(pipeline));
  plan.stages = given.stages;
  plan.replicas = given.replicas;
  plan.chunks = given.chunks;
  plan.stage_ranks = given.stage_ranks;
  plan.micro_batches = given.micro_batches;
  plan.micro_batch_size = given.micro_batch_size;
  plan.schedule = given.schedule;
  plan.warm_up = given.warm_up;
  plan.recompute = given.recompute;
  plan.kept_stages = given.kept_stages;
  plan.placement = given.placement;
}

}  // namespace penstock
