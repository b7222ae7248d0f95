// Time and memory of one way to run a step.
#include "runtime/planning/plan/predict.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/planning/plan/stages/stage_costs.h"
#include "runtime/planning/plan/stages/stage_skips.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"
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

// Replicas whose steps are alike: the kinds of device of their stages, and all that follows from
// these and from the nodes of their ranks.
struct LikeReplicas {
  StageKinds kinds;
  PipelineCosts costs;
};

// What makes two replicas unlike: the kinds of device of their stages, and by position the nodes of
// their ranks, from the first one's on, and the groups of these (RankLinks).
using ReplicaSort = std::tuple<StageKinds, std::vector<int>, std::vector<int>>;

ReplicaSort sort_of(const Job& job, const Arrangement& candidate, const Cluster& cluster,
                    int replica) {
  ReplicaSort sort{kinds_of_replica(candidate, job.schedule, cluster, replica), {}, {}};
  auto& [kinds, nodes, groups] = sort;
  for (int position = 0; position < job.schedule.ranks; ++position) {
    // World ranks grow with the position, and so do their nodes.
    nodes.push_back(job.node_of(position, replica) - job.node_of(0, replica));
    if (job.links.empty()) continue;
    groups.push_back(job.links.group_of_rank.at(job.world_rank(position, replica)));
  }
  return sort;
}

// Sets the links of one replica where some of the job are unlike.
void add_links(const Job& job, int replica, PipelineCosts& costs) {
  if (job.links.empty()) return;
  const std::vector<int>& at = job.schedule.rank_of_stage;
  costs.boundary_link.clear();
  costs.skip_link.clear();
  for (int s = 0; s + 1 < job.schedule.stages; ++s) {
    costs.boundary_link.push_back(job.link(at[s], at[s + 1], replica));
  }
  for (const Skip& skip : job.schedule.skips) {
    costs.skip_link.push_back(job.link(at[skip.from], at[skip.to], replica));
  }
}

// The slowest link by which the gradients of some stage are summed.
LinkTimes replica_link(const Job& job) {
  LinkTimes slowest = job.sum_link(0);
  for (int position = 1; position < job.schedule.ranks; ++position) {
    slow_to(slowest, job.sum_link(position));
  }
  return slowest;
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

PipelineCosts costs_on(const StageKinds& kinds, const Arrangement& candidate,
                       const Schedule& schedule, const ModelCosts& costs, const Cluster& cluster) {
  const auto placed = placed_costs(costs, candidate.split, kinds);
  PipelineCosts times =
      pipeline_costs(candidate, schedule, stage_layers(candidate, *placed), cluster);
  add_skips(candidate, schedule, costs, times);
  for (double& bytes : times.boundary_bytes) bytes *= costs.wire_share;
  for (double& bytes : times.skip_bytes) bytes *= costs.wire_share;
  return times;
}

// The replicas of a job, each sort once, in an order in which those of the same kinds are
// neighbours.
std::vector<LikeReplicas> replicas_of(const Job& job, const Arrangement& candidate,
                                      const ModelCosts& costs, const Cluster& cluster) {
  std::map<ReplicaSort, int> sorts;  // with the first replica of each
  for (int replica = 0; replica < job.distinct_replicas(); ++replica) {
    sorts.emplace(sort_of(job, candidate, cluster, replica), replica);
  }
  const LinkTimes link = replica_link(job);
  std::vector<LikeReplicas> replicas;
  for (const auto& [sort, replica] : sorts) {
    const auto& [kinds, nodes, groups] = sort;
    const bool known = !replicas.empty() && replicas.back().kinds == kinds;
    LikeReplicas added{.kinds = kinds,
                       .costs = known ? replicas.back().costs
                                      : costs_on(kinds, candidate, job.schedule, costs, cluster)};
    added.costs.node_of_rank = nodes;
    add_links(job, replica, added.costs);
    added.costs.replica_link = link;
    replicas.push_back(std::move(added));
  }
  return replicas;
}

// A step in which no card is shared: that of the slowest replica, since the update waits for all.
SteadyStep slowest_step(const Job& job, const std::vector<LikeReplicas>& replicas) {
  SteadyStep slowest;
  for (const LikeReplicas& replica : replicas) {
    SteadyStep step = simulate_steady(job.schedule, replica.costs, job.rules);
    if (step.length >= slowest.length) slowest = std::move(step);
  }
  return slowest;
}

// How long the ranks of a replica compute in a step, together.
double work_of(const Schedule& schedule, const std::vector<StageTimes>& stages) {
  double seconds = 0;
  for (const std::vector<Instruction>& program : schedule.program) {
    for (const Instruction& i : program) {
      if (is_compute(i.op)) seconds += seconds_of(stages[i.stage], i.op);
    }
  }
  return seconds;
}

// Where replicas are on unlike devices, `bubble` is that of the ranks of the slowest one, of which
// `step` is. Returns that of all ranks, since others have less to do in the same time.
double bubble_of_all(const Job& job, const SteadyStep& step, double bubble) {
  if (job.stage_of_replica.empty()) return bubble;
  double slowest = 0;
  for (const auto& spans : step.timeline.rank) {
    for (const TimedInstruction& span : spans) {
      if (is_compute(span.instruction.op)) slowest += span.end - span.start;
    }
  }
  double all = 0;
  for (const auto& stages : job.stage_of_replica) all += work_of(job.schedule, stages);
  if (slowest <= 0) return bubble;
  return std::max(0.0, 1 - (1 - bubble) * all / (job.costs.replicas * slowest));
}

// The length of such a step without communication. Nodes make no difference to it.
double computing_s(const Job& job, const std::vector<LikeReplicas>& replicas) {
  double slowest = 0;
  for (size_t i = 0; i < replicas.size(); ++i) {
    if (i > 0 && replicas[i].kinds == replicas[i - 1].kinds) continue;
    const PipelineCosts costs = without_communication(replicas[i].costs);
    slowest = std::max(slowest, simulate_steady(job.schedule, costs, job.rules).length);
  }
  return slowest;
}

// The times of a step that takes `plain_s` without an audit.
StepSeconds step_times(const Arrangement& candidate, const Job& job,
                       std::vector<LikeReplicas> replicas, double plain_s) {
  if (candidate.audit == 0) return {plain_s, plain_s, plain_s};
  for (LikeReplicas& replica : replicas) {
    replica.costs.audit = audit_times(job.schedule, replica.costs);
  }
  const double audited_s = slowest_step(job, replicas).length;
  return {plain_s, audited_s,
          plain_s + (audited_s - plain_s) / static_cast<double>(candidate.audit)};
}

// Replaces the times of a step in which no card is shared, `step`, by those of a step whose ranks
// share their nodes' cards.
void share_cards(Job job, std::vector<LikeReplicas> replicas, const SteadyStep& step,
                 Prediction& prediction) {
  if (job.costs.barrier) {
    const ReplayedStep replayed = replay_step(job);
    prediction.step = prediction.step.with_plain(replayed.step_s);
    prediction.bubble = steady_bubble(step.timeline, replayed.last_compute_s);
    return;
  }
  job.costs.barrier = true;
  for (LikeReplicas& replica : replicas) replica.costs.barrier = true;
  const double delay_s = replay_step(job).step_s - slowest_step(job, replicas).length;
  prediction.step = prediction.step.with_plain(step.length + delay_s);
  prediction.bubble = steady_bubble(step.timeline, prediction.step.plain_s);
}

// Job::stage_of_replica: empty where all replicas are alike.
std::vector<std::vector<StageTimes>> stage_of_replica(const Arrangement& candidate,
                                                      const Schedule& schedule,
                                                      const ModelCosts& costs,
                                                      const Cluster& cluster) {
  std::vector<std::vector<StageTimes>> all;
  if (distinct_kinds(candidate, schedule, cluster).size() == 1) return all;
  std::map<StageKinds, std::vector<StageTimes>> known;
  for (int replica = 0; replica < candidate.replicas; ++replica) {
    const StageKinds kinds = kinds_of_replica(candidate, schedule, cluster, replica);
    auto found = known.find(kinds);
    if (found == known.end()) {
      found =
          known.emplace(kinds, costs_on(kinds, candidate, schedule, costs, cluster).stage).first;
    }
    all.push_back(found->second);
  }
  return all;
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
          .chunks = candidate.stage_ranks.empty() ? candidate.chunks : 0,
          .stage_ranks = candidate.stage_ranks,
          .warm_up = candidate.warm_up,
          .recompute = candidate.recompute,
          .kept_stages = candidate.kept_stages,
          .replicas = candidate.replicas,
          .skips = skips};
}

Schedule schedule_of(const Arrangement& candidate, const std::vector<Skip>& skips) {
  Schedule schedule = training_schedule(recipe_of(candidate, skips)).schedule;
  return candidate.audit > 0 ? place_audits(std::move(schedule)) : schedule;
}

PipelineCosts step_costs(const Arrangement& candidate, const Schedule& schedule,
                         const ModelCosts& costs, const Cluster& cluster) {
  return costs_on(slowest_kinds(candidate, schedule, costs, cluster), candidate, schedule, costs,
                  cluster);
}

Job job_of(const Arrangement& candidate, const Schedule& schedule, const ModelCosts& costs,
           const Cluster& cluster) {
  return {.schedule = schedule,
          .costs = step_costs(candidate, schedule, costs, cluster),
          .rules = transport_of(cluster, schedule),
          .ranks_per_node = cluster.ranks_per_node,
          .by_stages = candidate.placement == "stages",
          .cards = cluster.cards,
          .stage_of_replica = stage_of_replica(candidate, schedule, costs, cluster),
          .links = cluster.links};
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
  const Job job = job_of(candidate, schedule, costs, cluster);
  const std::vector<LikeReplicas> replicas = replicas_of(job, candidate, costs, cluster);
  prediction.memory =
      fullest_memory(candidate, schedule, costs, cluster, job.rules, &prediction.bytes);
  SteadyStep step = slowest_step(job, replicas);
  prediction.step = step_times(candidate, job, replicas, step.length);
  prediction.bubble =
      candidate.barrier ? bubble_share(step.timeline) : steady_bubble(step.timeline, step.length);
  if (job.nodes() > 1) share_cards(job, replicas, step, prediction);
  prediction.bubble = bubble_of_all(job, step, prediction.bubble);
  for (RankMemory& rank : prediction.memory) {
    rank.snapshot = snapshot_bytes(rank.saved, candidate, prediction.step.mean_s);
  }
  prediction.exposed_communication_s = prediction.step.plain_s - computing_s(job, replicas);
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
