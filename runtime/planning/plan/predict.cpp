// Time and memory of one way to run a step.
#include "runtime/planning/plan/predict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>

#include "runtime/planning/partition/partition.h"
#include "runtime/planning/plan/stage_costs.h"
#include "runtime/planning/plan/stage_skips.h"
#include "runtime/planning/schedule/audits.h"
#include "runtime/planning/schedule/proof/window.h"
#include "runtime/planning/schedule/timing/data_use.h"
#include "runtime/planning/schedule/timing/simulate.h"

namespace penstock {
namespace {

// Buckets (runtime/network/stage/gradient_buckets.h), and lanes of scratch memory for the other
// replicas' copies (runtime/system/comm/mpi/mpi_reduce.cpp).
constexpr double kBucketBytes = 4 << 20;
constexpr int64_t kReduceScratch = int64_t{4} * (2 << 20);
// A tensor of the part of an update that is audited (runtime/network/optimizer/update_audit.h).
constexpr int64_t kAuditedUpdate = int64_t{64} * 4096 * 4;

using Stages = std::vector<std::span<const LayerCost>>;

Stages stages_of(const Arrangement& candidate, const ModelCosts& costs) {
  if (costs.micro_batch_size != candidate.micro_batch_size) {
    throw std::invalid_argument("these are the costs of micro-batches of " +
                                std::to_string(costs.micro_batch_size) + " samples, not of " +
                                std::to_string(candidate.micro_batch_size));
  }
  const std::vector<int64_t> given(candidate.split.begin(), candidate.split.end());
  (void)check_split(given, static_cast<int>(costs.layers.size()), candidate.stages);
  Stages stages;
  std::span<const LayerCost> rest(costs.layers);
  for (const int layers : candidate.split) {
    stages.push_back(rest.first(layers));
    rest = rest.subspan(layers);
  }
  return stages;
}

bool runs(const Schedule& schedule, Op op) {
  return std::any_of(schedule.program.begin(), schedule.program.end(), [&](const auto& program) {
    return std::any_of(program.begin(), program.end(),
                       [&](const Instruction& instruction) { return instruction.op == op; });
  });
}

// The ranks on nodes, node by node in the order of world ranks (runtime/system/comm/grid.h).
struct Nodes {
  // The ways in which nodes cut a pipeline up, each once: the nodes of its ranks, numbered from 0
  // for each replica.
  std::set<std::vector<int>> patterns;
  bool replicas_apart = false;  // some reduce group spans nodes
};

Nodes nodes_of(const Arrangement& candidate, const Cluster& cluster) {
  Nodes nodes;
  if (cluster.ranks_per_node <= 0) {
    nodes.patterns.insert(std::vector<int>());
    return nodes;
  }
  const int positions = candidate.ranks();
  const int replicas = candidate.replicas;
  const bool by_stages = cluster.placement == "stages";
  const auto node = [&](int position, int replica) {
    const int world = by_stages ? replica * positions + position : position * replicas + replica;
    return world / cluster.ranks_per_node;
  };
  for (int replica = 0; replica < replicas; ++replica) {
    std::vector<int> pattern;  // world ranks grow with the position, and so do their nodes
    pattern.reserve(positions);
    for (int position = 0; position < positions; ++position) {
      pattern.push_back(node(position, replica) - node(0, replica));
    }
    nodes.patterns.insert(std::move(pattern));
  }
  for (int position = 0; position < positions; ++position) {
    if (node(position, 0) != node(position, replicas - 1)) nodes.replicas_apart = true;
  }
  return nodes;
}

PipelineCosts pipeline_costs(const Arrangement& candidate, const Schedule& schedule,
                             const Stages& stages, const Cluster& cluster) {
  PipelineCosts costs;
  costs.within_node = cluster.within_node;
  costs.between_nodes = cluster.between_nodes;
  costs.replicas = candidate.replicas;
  costs.updates_are_shared = candidate.shared;
  costs.late_weights = cluster.late_weights;
  costs.barrier = candidate.barrier;
  costs.update.assign(schedule.ranks, 0.0);
  const bool halves = runs(schedule, Op::BackwardWeight);
  for (int s = 0; s < schedule.stages; ++s) {
    costs.stage.push_back(stage_times(stages[s], candidate.recompute));
    if (s > 0) {
      costs.boundary_bytes.push_back(static_cast<double>(stages[s].front().input_bytes));
    }
    costs.reduce.push_back(gradient_buckets(stages[s], candidate.recompute, halves, kBucketBytes));
    for (const LayerCost& layer : stages[s]) {
      costs.update[schedule.rank_of_stage[s]] += layer.update_s * candidate.update_share();
    }
  }
  return costs;
}

// The time of an audit on each rank: forward and backward of one micro-batch again, and once more
// for another replica; of several stages of a rank, the longest.
std::vector<double> audit_times(const Schedule& schedule, const PipelineCosts& costs) {
  std::vector<double> seconds(schedule.ranks, 0.0);
  for (int s = 0; s < schedule.stages; ++s) {
    const StageTimes& times = costs.stage[s];
    const double backward = std::max(times.backward, times.backward_input + times.backward_weight);
    double& rank = seconds[schedule.rank_of_stage[s]];
    rank = std::max(rank, (costs.replicas > 1 ? 2 : 1) * (times.forward + backward));
  }
  return seconds;
}

// What a rank keeps to audit its update: weights and states of the part, before the update and
// after a second one.
int64_t audited_update_bytes(const Stages& stages, const Schedule& schedule, int rank) {
  int64_t tensors = 0;
  int64_t largest = kAuditedUpdate;
  for (int s = 0; s < schedule.stages; ++s) {
    if (schedule.rank_of_stage[s] != rank) continue;
    for (const LayerCost& layer : stages[s]) {
      if (layer.gradient_bytes == 0) continue;
      largest = std::max(largest, layer.whole_bytes);
      tensors = std::max(tensors, 1 + layer.optimizer_bytes / layer.gradient_bytes);
    }
  }
  return 2 * tensors * largest;
}

// Skips to the next stage go with what passes to it anyway, the others by themselves.
void add_skips(const Arrangement& candidate, const Schedule& schedule, const ModelCosts& costs,
               PipelineCosts& times) {
  if (costs.skips.empty()) return;
  const auto bytes = [&](int from, int to) {
    return static_cast<double>(skip_bytes(candidate.split, costs.skips, from, to));
  };
  for (int s = 0; s + 1 < schedule.stages; ++s) times.boundary_bytes[s] += bytes(s, s + 1);
  for (const Skip& skip : schedule.skips) times.skip_bytes.push_back(bytes(skip.from, skip.to));
}

// The bytes of the batch fields that a rank's stages read, each field once however many layers read
// it.
int64_t data_bytes(const Schedule& schedule, const Stages& stages, int rank) {
  std::vector<bool> reads(schedule.stages, false);
  std::map<std::string, int64_t> fields;
  for (int s = 0; s < schedule.stages; ++s) {
    if (schedule.rank_of_stage[s] != rank) continue;
    for (const LayerCost& layer : stages[s]) {
      for (const DataField& field : layer.reads) fields[field.name] = field.bytes;
      reads[s] = reads[s] || !layer.reads.empty();
    }
  }
  int64_t bytes = 0;
  for (const auto& [name, size] : fields) bytes += size;
  return bytes == 0 ? 0
                    : bytes * most_data_held(data_use(schedule.program[rank], reads), kDataAhead);
}

// What the updates of a rank need beside weights and gradients.
struct UpdateMemory {
  int64_t all = 0;      // bytes of states (updated_bytes()), if one replica made all updates
  int64_t whole = 0;    // of these, for the largest parameter that replicas do not cut
  int64_t scratch = 0;  // bytes that are needed once

  void add(const LayerCost& layer, const Arrangement& candidate) {
    const int64_t updated = updated_bytes(layer, candidate);
    all += updated;
    if (layer.whole_bytes > 0) {
      const auto states = static_cast<double>(updated) / static_cast<double>(layer.gradient_bytes);
      whole =
          std::max<int64_t>(whole, std::llround(states * static_cast<double>(layer.whole_bytes)));
    }
    scratch = std::max(scratch, layer.update_scratch_bytes);
  }
  // The most that a replica has: its share of all, and one parameter too much.
  [[nodiscard]] int64_t own(const Arrangement& candidate) const {
    const double share = std::ceil(static_cast<double>(all) * candidate.update_share());
    return std::min(all, static_cast<int64_t>(share) + whole);
  }
};

// The peak memory of each rank; `curve`, unless null, is set to the activations over the step.
std::vector<RankMemory> memory_of(const Arrangement& candidate, const Schedule& schedule,
                                  const ModelCosts& costs, const TransportRules& rules,
                                  ByteCurve* curve) {
  const Stages stages = stages_of(candidate, costs);
  std::vector<StageMemory> of_stage;
  std::vector<RankMemory> memory(schedule.ranks);
  std::vector<UpdateMemory> updates(schedule.ranks);
  // An audit keeps the gradients as they were before the micro-batch, and those of another replica.
  const int audits = !runs(schedule, Op::Audit) ? 0 : candidate.replicas > 1 ? 2 : 1;
  const int64_t copies = candidate.gradient_copies() + audits;
  for (int s = 0; s < schedule.stages; ++s) {
    of_stage.push_back(stage_memory(stages[s], candidate.recompute));
    RankMemory& rank = memory[schedule.rank_of_stage[s]];
    for (const LayerCost& layer : stages[s]) {
      rank.parameters += layer.parameter_bytes;
      rank.gradients += layer.gradient_bytes * copies;
      updates[schedule.rank_of_stage[s]].add(layer, candidate);
      rank.workspace += layer.workspace_bytes;
    }
  }
  std::vector<int64_t> skipped;
  for (const Skip& skip : schedule.skips) {
    skipped.push_back(skip_bytes(candidate.split, costs.skips, skip.from, skip.to));
  }
  if (curve != nullptr) *curve = byte_curve(schedule, of_stage, skipped, rules);
  const std::vector<int64_t> activations =
      curve != nullptr ? peak_bytes(*curve) : peak_bytes(schedule, of_stage, skipped, rules);
  for (int r = 0; r < schedule.ranks; ++r) {
    memory[r].optimizer = updates[r].own(candidate);
    memory[r].activations = activations[r];
    memory[r].workspace += updates[r].scratch + data_bytes(schedule, stages, r);
    if (audits > 0) memory[r].workspace += audited_update_bytes(stages, schedule, r);
    memory[r].communication = kReduceScratch * (candidate.replicas - 1) / candidate.replicas;
  }
  return memory;
}

}  // namespace

int Prediction::fullest_rank() const {
  const auto fullest = std::max_element(
      memory.begin(), memory.end(),
      [](const RankMemory& a, const RankMemory& b) { return a.total() < b.total(); });
  return static_cast<int>(fullest - memory.begin());
}

Recipe recipe_of(const Arrangement& candidate, const std::vector<Skip>& skips) {
  return {.schedule = candidate.schedule,
          .stages = candidate.stages,
          .micro_batches = candidate.micro_batches,
          .chunks = candidate.chunks,
          .recompute = candidate.recompute,
          .replicas = candidate.replicas,
          .skips = skips};
}

Schedule schedule_of(const Arrangement& candidate, const std::vector<Skip>& skips) {
  Schedule schedule = training_schedule(recipe_of(candidate, skips)).schedule;
  return candidate.audit > 0 ? place_audits(std::move(schedule)) : schedule;
}

PipelineCosts step_costs(const Arrangement& candidate, const Schedule& schedule,
                         const ModelCosts& costs, const Cluster& cluster) {
  PipelineCosts times = pipeline_costs(candidate, schedule, stages_of(candidate, costs), cluster);
  add_skips(candidate, schedule, costs, times);
  for (double& bytes : times.boundary_bytes) bytes *= costs.wire_share;
  for (double& bytes : times.skip_bytes) bytes *= costs.wire_share;
  return times;
}

Job job_of(const Arrangement& candidate, const ModelCosts& costs, const Cluster& cluster) {
  Job job{.schedule = schedule_of(candidate, stage_skips(candidate.split, costs.skips))};
  job.costs = step_costs(candidate, job.schedule, costs, cluster);
  job.rules = transport_of(cluster, job.schedule);
  job.ranks_per_node = cluster.ranks_per_node;
  job.by_stages = cluster.placement == "stages";
  return job;
}

TransportRules transport_of(const Cluster& cluster, const Schedule& schedule) {
  return {cluster.sends_wait ? message_window(schedule) : TransportRules::kSendsNeverWait};
}

std::vector<RankMemory> predict_memory(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, const TransportRules& rules) {
  return memory_of(candidate, schedule, costs, rules, nullptr);
}

Prediction predict(const Arrangement& candidate, const Schedule& schedule, const ModelCosts& costs,
                   const Cluster& cluster) {
  Prediction prediction;
  const TransportRules rules = transport_of(cluster, schedule);
  prediction.memory = memory_of(candidate, schedule, costs, rules, &prediction.bytes);
  const Nodes nodes = nodes_of(candidate, cluster);
  PipelineCosts times = step_costs(candidate, schedule, costs, cluster);
  times.replica_link = nodes.replicas_apart ? cluster.between_nodes : cluster.within_node;
  // The update waits for all replicas, so the step is that of the slowest.
  for (const std::vector<int>& pattern : nodes.patterns) {
    times.node_of_rank = pattern;
    SteadyStep step = simulate_steady(schedule, times, rules);
    if (step.length < prediction.step_s) continue;
    prediction.step_s = step.length;
    prediction.timeline = std::move(step.timeline);
  }
  prediction.mean_step_s = prediction.step_s;
  if (candidate.audit > 0) {
    PipelineCosts audited = times;
    audited.audit = audit_times(schedule, times);
    prediction.audited_step_s = simulate_steady(schedule, audited, rules).length;
    prediction.mean_step_s +=
        (prediction.audited_step_s - prediction.step_s) / static_cast<double>(candidate.audit);
  }
  prediction.exposed_communication_s =
      prediction.step_s - simulate_steady(schedule, without_communication(times), rules).length;
  prediction.bubble = candidate.barrier ? bubble_share(prediction.timeline)
                                        : steady_bubble(prediction.timeline, prediction.step_s);
  if (prediction.mean_step_s > 0) {
    const double samples = static_cast<double>(candidate.micro_batch_size) *
                           candidate.micro_batches * candidate.replicas;
    prediction.samples_per_s = samples / prediction.mean_step_s;
  }
  return prediction;
}

Prediction predict(const Arrangement& candidate, const ModelCosts& costs, const Cluster& cluster) {
  return predict(candidate, schedule_of(candidate, stage_skips(candidate.split, costs.skips)),
                 costs, cluster);
}

}  // namespace penstock
