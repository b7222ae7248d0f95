// runtime/planning/replay/job.h -- Job: a training step on a cluster, with all ranks of all
// replicas on their nodes. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// What makes ranks unequal. All is drawn from the seed, so the same job has the same stragglers.
struct Unevenness {
  uint64_t seed = 1;
  double jitter = 0;            // standard deviation of an instruction's time, as a share of it
  double straggler_share = 0;   // share of the nodes that are slow, on average
  double straggler_factor = 1;  // factor of the time that slow nodes' ranks take to compute
};

struct Job {
  Schedule schedule;         // of one pipeline, lowered
  PipelineCosts costs = {};  // node_of_rank and replica_link are not read: they follow from below
  TransportRules rules = {};
  int ranks_per_node = 0;  // 0: all ranks on one node
  // True: world rank = replica x positions + position. False: position x replicas + replica.
  bool by_stages = true;
  // The number of network cards of a node, which its ranks share evenly; each carries bytes at the
  // rate of costs.between_nodes, out and in at once. 0: every link between two stages has a card of
  // its own at both ends.
  int cards = 1;
  // The factor of the time that each node's cards take for a byte; empty: 1 for all.
  std::vector<double> node_slowness = {};
  Unevenness unevenness = {};

  [[nodiscard]] int ranks() const { return schedule.ranks * costs.replicas; }
  // The rank of the job, and the node, of a pipeline's position in a replica.
  [[nodiscard]] int world_rank(int position, int replica) const {
    return by_stages ? replica * schedule.ranks + position : position * costs.replicas + replica;
  }
  [[nodiscard]] int node_of(int position, int replica) const {
    return ranks_per_node <= 0 ? 0 : world_rank(position, replica) / ranks_per_node;
  }
  [[nodiscard]] int nodes() const {
    return ranks_per_node <= 0 ? 1 : (ranks() + ranks_per_node - 1) / ranks_per_node;
  }
};

// Throws std::invalid_argument, naming what is wrong, for costs that do not fit the schedule
// (check_costs) or numbers that make no sense.
void check_job(const Job& job);

}  // namespace penstock
