// runtime/planning/replay/job.h -- Job: the input of replay_step() (replay_step.h): one training
// step of a whole job, with all ranks of all replicas, the nodes that they are on, shared network
// cards, and what makes some ranks slower than others.
//
// simulate() (runtime/planning/schedule/timing) knows one pipeline and links of its own for every
// message; a Job adds the rest of the cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/planning/schedule/timing/rank_links.h"

namespace penstock {

// Random differences between ranks. They depend on the seed alone, so equal jobs have the same
// stragglers (slow nodes).
struct Unevenness {
  uint64_t seed = 1;
  double jitter = 0;            // standard deviation of an instruction's time, as a share of it
  double straggler_share = 0;   // the probability that a node is slow, 0 to 1
  double straggler_factor = 1;  // by which computing takes longer on a slow node
};

// A "position" is the number of a rank within its pipeline, 0 .. schedule.ranks - 1. A "world rank"
// is its number in the whole job.
struct Job {
  Schedule schedule;  // of one pipeline, with messages (lower()); all replicas run it
  // Times and bytes; costs.replicas is the number of replicas. node_of_rank and the links but
  // within_node and between_nodes are not read, since the members below say which ranks share a
  // node, and which links are unlike these two.
  PipelineCosts costs = {};
  TransportRules rules = {};  // whether sends wait
  int ranks_per_node = 0;     // 0: all ranks are on one node
  // True: world rank = replica x schedule.ranks + position. False: position x replicas + replica.
  bool by_stages = true;
  // How many network cards a node has. Its ranks are divided evenly among them. A card sends at the
  // rate of costs.between_nodes, and receives at the same rate at the same time. 0: nothing is
  // shared, as if every link between two stages had cards of its own.
  int cards = 1;
  // One per node: how many times longer than usual its cards take for a byte; empty: 1 for all.
  std::vector<double> node_slowness = {};
  Unevenness unevenness = {};
  // What stands in the place of costs.stage, by replica, where replicas are on unlike devices;
  // empty: all replicas take the same.
  std::vector<std::vector<StageTimes>> stage_of_replica = {};
  RankLinks links = {};  // which links are unlike; empty: none is

  [[nodiscard]] int ranks() const { return schedule.ranks * costs.replicas; }  // of the whole job
  // The world rank, and the node, of the rank at a position of a replica.
  [[nodiscard]] int world_rank(int position, int replica) const {
    return by_stages ? replica * schedule.ranks + position : position * costs.replicas + replica;
  }
  [[nodiscard]] int node_of(int position, int replica) const {
    return ranks_per_node <= 0 ? 0 : world_rank(position, replica) / ranks_per_node;
  }
  [[nodiscard]] int nodes() const {
    return ranks_per_node <= 0 ? 1 : (ranks() + ranks_per_node - 1) / ranks_per_node;
  }
  // The link between the ranks at two positions of a replica.
  [[nodiscard]] LinkTimes link(int position, int other, int replica) const;
  // That of the sums between the ranks at a position: between_nodes where they are on several, or
  // as slow as the slowest of those that are unlike.
  [[nodiscard]] LinkTimes sum_link(int position) const;
  // How many replicas, from the first on, a replay must walk through: every later one lies on its
  // nodes as one of these does, shares no card with them, and so does the same at the same times.
  [[nodiscard]] int distinct_replicas() const;
};

// Throws std::invalid_argument, naming what is wrong, for costs that do not fit the schedule
// (check_costs()) and for numbers that make no sense.
void check_job(const Job& job);

}  // namespace penstock
