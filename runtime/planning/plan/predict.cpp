// Time and memory of one way to run a step.
#include "runtime/planning/plan/predict.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/planning/plan/stage_costs.h"
#include "runtime/planning/plan/stage_skips.h"
#include "runtime/planning/replay/replay_step.h"
#include "runtime/planning/schedule/audits.h"
#include "runtime/planning/schedule/proof/window.h"
#include "runtime/planning/schedule/timing/simulate.h"

namespace penstock {
namespace {

bool runs(const Schedule& schedule, Op op) {
  return std::any_of(schedule.program.begin(), schedule.program.end(), [&](const auto& program) {
    return std::any_of(program.begin(), program.end(),
                       [&](const Instruction& instruction) { return instruction.op == op; });
  });
}

// The ways in which nodes cut a pipeline up, each once: the nodes of its ranks, numbered from 0 for
// each replica.
std::set<std::vector<int>> patterns_of(const Job& job) {
  std::set<std::vector<int>> patterns;
  for (int replica = 0; replica < job.distinct_replicas(); ++replica) {
    std::vector<int> pattern;  // world ranks grow with the position, and so do their nodes
    pattern.reserve(job.schedule.ranks);
    for (int position = 0; position < job.schedule.ranks; ++position) {
      pattern.push_back(job.node_of(position, replica) - job.node_of(0, replica));
    }
    patterns.insert(std::move(pattern));
  }
  return patterns;
}

// Whether the sum of some stage's gradients goes from node to node.
bool are_replicas_apart(const Job& job) {
  for (int position = 0; position < job.schedule.ranks; ++position) {
    if (job.node_of(position, 0) != job.node_of(position, job.costs.replicas - 1)) return true;
  }
  return false;
}

PipelineCosts pipeline_costs(const Arrangement& candidate, const Schedule& schedule,
                             const StageLayers& stages, const Cluster& cluster) {
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

// A step in which no card is shared: that of the slowest replica, since the update waits for all.
SteadyStep slowest_replica(const Job& job, PipelineCosts costs) {
  SteadyStep slowest;
  for (const std::vector<int>& pattern : patterns_of(job)) {
    costs.node_of_rank = pattern;
    SteadyStep step = simulate_steady(job.schedule, costs, job.rules);
    if (step.length >= slowest.length) slowest = std::move(step);
  }
  return slowest;
}

// The times of a step that takes `plain_s` without an audit.
StepSeconds step_times(const Arrangement& candidate, const Job& job, double plain_s) {
  if (candidate.audit == 0) return {plain_s, plain_s, plain_s};
  PipelineCosts audited = job.costs;
  audited.audit = audit_times(job.schedule, job.costs);
  const double audited_s = slowest_replica(job, audited).length;
  return {plain_s, audited_s,
          plain_s + (audited_s - plain_s) / static_cast<double>(candidate.audit)};
}

// Replaces the times of a step in which no card is shared, `step`, by those of a step whose ranks
// share their nodes' cards.
void share_cards(Job job, const SteadyStep& step, Prediction& prediction) {
  if (job.costs.barrier) {
    const ReplayedStep replayed = replay_step(job);
    prediction.step = prediction.step.with_plain(replayed.step_s);
    prediction.bubble = steady_bubble(step.timeline, replayed.last_compute_s);
    return;
  }
  job.costs.barrier = true;
  const double delay_s = replay_step(job).step_s - slowest_replica(job, job.costs).length;
  prediction.step = prediction.step.with_plain(step.length + delay_s);
  prediction.bubble = steady_bubble(step.timeline, prediction.step.plain_s);
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

}  // namespace

int Prediction::fullest_rank() const {
  const auto fullest = std::max_element(
      memory.begin(), memory.end(),
      [](const RankMemory& a, const RankMemory& b) { return a.total() < b.total(); });
  return static_cast<int>(fullest - memory.begin());
}

Recipe recipe_of(const Arrangement& candidate, const std::vector<Skip>& skips) {
  return {.schedule = candidate.schedule,
          .csv = candidate.csv,
          .stages = candidate.stages,
          .micro_batches = candidate.micro_batches,
          .chunks = candidate.chunks,
          .warm_up = candidate.warm_up,
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
  PipelineCosts times =
      pipeline_costs(candidate, schedule, stage_layers(candidate, costs), cluster);
  add_skips(candidate, schedule, costs, times);
  for (double& bytes : times.boundary_bytes) bytes *= costs.wire_share;
  for (double& bytes : times.skip_bytes) bytes *= costs.wire_share;
  return times;
}

Job job_of(const Arrangement& candidate, const Schedule& schedule, const ModelCosts& costs,
           const Cluster& cluster) {
  return {.schedule = schedule,
          .costs = step_costs(candidate, schedule, costs, cluster),
          .rules = transport_of(cluster, schedule),
          .ranks_per_node = cluster.ranks_per_node,
          .by_stages = candidate.placement == "stages",
          .cards = cluster.cards};
}

Job job_of(const Arrangement& candidate, const ModelCosts& costs, const Cluster& cluster) {
  return job_of(candidate, schedule_of(candidate, stage_skips(candidate.split, costs.skips)), costs,
                cluster);
}

TransportRules transport_of(const Cluster& cluster, const Schedule& schedule) {
  return {.window = cluster.sends_wait ? message_window(schedule) : TransportRules::kSendsNeverWait,
          .holds_sent = cluster.sends_hold};
}

Prediction predict(const Arrangement& candidate, const Schedule& schedule, const ModelCosts& costs,
                   const Cluster& cluster) {
  Prediction prediction;
  Job job = job_of(candidate, schedule, costs, cluster);
  prediction.memory = predict_memory(candidate, schedule, costs, job.rules, &prediction.bytes);
  job.costs.replica_link = are_replicas_apart(job) ? cluster.between_nodes : cluster.within_node;
  SteadyStep step = slowest_replica(job, job.costs);
  prediction.step = step_times(candidate, job, step.length);
  prediction.bubble =
      candidate.barrier ? bubble_share(step.timeline) : steady_bubble(step.timeline, step.length);
  if (job.nodes() > 1) share_cards(job, step, prediction);
  for (RankMemory& rank : prediction.memory) {
    rank.snapshot = snapshot_bytes(rank.saved, candidate, prediction.step.mean_s);
  }
  prediction.exposed_communication_s =
      prediction.step.plain_s -
      simulate_steady(schedule, without_communication(job.costs), job.rules).length;
  if (prediction.step.mean_s > 0) {
    const double samples = static_cast<double>(candidate.micro_batch_size) *
                           candidate.micro_batches * candidate.replicas;
    prediction.samples_per_s = samples / prediction.step.mean_s;
  }
  prediction.timeline = std::move(step.timeline);
  return prediction;
}

Prediction predict(const Arrangement& candidate, const ModelCosts& costs, const Cluster& cluster) {
  return predict(candidate, schedule_of(candidate, stage_skips(candidate.split, costs.skips)),
                 costs, cluster);
}

}  // namespace penstock
