// runtime/planning/plan/profile.h -- Profile: what `penstock profile` measured of a network on a
// machine; calibrated(): corrects counted costs by it. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// A measured link of the grid.
struct ProfiledLink {
  int first = 0, second = 0;  // world ranks
  bool of_replicas = false;   // between replicas, which sum gradients; else between stages
  bool same_node = true;
  std::vector<double> seconds;  // of one message of each size in Profile::link_bytes
};

struct Profile {
  ModelCosts costs;                      // measured
  LinkTimes within_node, between_nodes;  // zero where no two ranks had such a link
  int threads = 1;                       // of each rank
  std::string precision = "fp32";
  // The sizes of messages and each link's times, where every link was measured. within_node and
  // between_nodes are then typical ones.
  std::vector<double> link_bytes = {};
  std::vector<ProfiledLink> links = {};
};

// Returns `counted`, which may be for any micro-batch size, with each layer's times multiplied by
// measured / counted_at_profile, both of the profile's size. Memory stays as counted. Throws
// std::invalid_argument naming the first layer whose name or parameters differ.
[[nodiscard]] ModelCosts calibrated(ModelCosts counted, const ModelCosts& counted_at_profile,
                                    const ModelCosts& measured);

}  // namespace penstock
