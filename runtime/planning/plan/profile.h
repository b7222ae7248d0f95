// runtime/planning/plan/profile.h -- Profile: the measurements of `penstock profile` of a network
// on a machine, and how they correct counted costs. Pure data and a pure function.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// A measured link of the grid.
struct ProfiledLink {
  int first = 0, second = 0;  // world ranks
  bool of_replicas = false;   // that sum gradients; else neighbouring stages
  bool same_node = true;
  std::vector<double> seconds;  // of one message, by Profile::link_bytes
};

struct Profile {
  ModelCosts costs;
  LinkTimes within_node, between_nodes;  // zero where there were no two such ranks
  int threads = 1;                       // of each rank
  std::string precision = "fp32";
  // The times of every link, where all were measured: within_node and between_nodes are then the
  // typical ones.
  std::vector<double> link_bytes = {};
  std::vector<ProfiledLink> links = {};
};

// `counted` for any micro-batch size, with the times of each layer multiplied by the profile's
// correction: measured / counted at the profile's size. Memory stays as counted. Throws
// std::invalid_argument naming the first layer whose name or parameters differ.
[[nodiscard]] ModelCosts calibrated(ModelCosts counted, const ModelCosts& counted_at_profile,
                                    const ModelCosts& measured);

}  // namespace penstock
