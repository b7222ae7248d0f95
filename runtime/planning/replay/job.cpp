#include "runtime/planning/replay/job.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

void require_of_job(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("bad job: " + what);
}

}  // namespace

LinkTimes Job::link(int position, int other, int replica) const {
  const bool same = node_of(position, replica) == node_of(other, replica);
  return links.link(world_rank(position, replica), world_rank(other, replica),
                    same ? costs.within_node : costs.between_nodes);
}

LinkTimes Job::sum_link(int position) const {
  // World ranks grow with the replica, and so do their nodes.
  const bool same = node_of(position, 0) == node_of(position, costs.replicas - 1);
  std::vector<int> ranks;
  for (int replica = 0; replica < costs.replicas && !links.empty(); ++replica) {
    ranks.push_back(world_rank(position, replica));
  }
  return links.slowest(ranks, same ? costs.within_node : costs.between_nodes);
}

int Job::distinct_replicas() const {
  const int replicas = costs.replicas;
  const bool uneven = unevenness.jitter > 0 || unevenness.straggler_share > 0 ||
                      !node_slowness.empty() || !stage_of_replica.empty() || !links.empty();
  if (uneven) return replicas;
  if (nodes() == 1) return 1;
  int period = replicas;
  if (by_stages) {
    period = ranks_per_node / std::gcd(ranks_per_node, schedule.ranks);
  } else if (replicas % ranks_per_node == 0) {
    period = ranks_per_node;
  }
  return replicas % period == 0 ? period : replicas;
}

void check_job(const Job& job) {
  check_well_formed(job.schedule);
  check_costs(job.costs, job.schedule);
  if (!job.stage_of_replica.empty()) {
    require_of_job(std::ssize(job.stage_of_replica) == job.costs.replicas,
                   "there are times of " + std::to_string(job.stage_of_replica.size()) +
                       " replicas, and it has " + std::to_string(job.costs.replicas));
    PipelineCosts replica = job.costs;
    for (const std::vector<StageTimes>& stage : job.stage_of_replica) {
      replica.stage = stage;
      check_costs(replica, job.schedule);
    }
  }
  const Unevenness& uneven = job.unevenness;
  require_of_job(job.costs.replicas >= 1, "it needs at least one replica");
  require_of_job(job.links.empty() || std::ssize(job.links.group_of_rank) == job.ranks(),
                 "there are links of " + std::to_string(job.links.group_of_rank.size()) +
                     " ranks, and it has " + std::to_string(job.ranks()));
  require_of_job(job.costs.barrier, "a replay has updates behind a barrier (optimizer.barrier)");
  require_of_job(job.cards >= 0, "a node cannot have less than no network card");
  require_of_job(uneven.jitter >= 0 && uneven.jitter < 1, "jitter is a share from 0 to below 1");
  require_of_job(uneven.straggler_share >= 0 && uneven.straggler_share <= 1,
                 "the share of stragglers is from 0 to 1");
  require_of_job(uneven.straggler_factor >= 1, "a straggler takes at least as long as the others");
  require_of_job(job.node_slowness.empty() || std::ssize(job.node_slowness) == job.nodes(),
                 "slowness is for each of its " + std::to_string(job.nodes()) + " nodes");
  require_of_job(std::ranges::all_of(job.node_slowness, [](double s) { return s > 0; }),
                 "slowness is above 0");
}

}  // namespace penstock
