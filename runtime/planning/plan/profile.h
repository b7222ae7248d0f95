// runtime/planning/plan/profile.h -- Profile: what `penstock profile` has measured of a network's
// layers and a cluster's links, and stored in a file; calibrated(): corrects counted costs by it.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// The measured link between two ranks.
struct ProfiledLink {
  int first = 0, second = 0;  // their numbers in the whole job (MPI_COMM_WORLD)
  // True: they hold the same stage in two replicas, which sum gradients. False: they hold
  // neighbouring stages of one replica.
  bool of_replicas = false;
  bool same_node = true;        // whether both are on one node
  std::vector<double> seconds;  // of one message of each size in Profile::link_bytes
};

struct Profile {
  ModelCosts costs;                      // of the layers, measured
  LinkTimes within_node, between_nodes;  // all 0 where no two ranks had such a link
  int threads = 1;                       // of each rank
  std::string precision = "fp32";        // fp32 | bf16
  // The next two are for jobs of which every link was measured: the sizes of the messages, and the
  // links. within_node and between_nodes are then those of typical links among them. Else both
  // lists are empty.
  std::vector<double> link_bytes = {};
  std::vector<ProfiledLink> links = {};
};

// Makes counted times realistic. `measured` are the profile's costs; `counted_at_profile` are costs
// counted for the same micro-batch size; `counted` are costs counted for any micro-batch size.
// Returns `counted` with each layer's times multiplied by measured / counted_at_profile. Memory
// stays as counted. Throws std::invalid_argument, naming the first layer whose name or number of
// parameters differs.
[[nodiscard]] ModelCosts calibrated(ModelCosts counted, const ModelCosts& counted_at_profile,
                                    const ModelCosts& measured);

}  // namespace penstock
