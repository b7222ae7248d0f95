// runtime/planning/plan/arrangement.h -- Arrangement: one way to run a step on a number of ranks.
// Cluster: the nodes and links that would run it. Plain data.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// A step takes replicas x micro_batches x micro_batch_size samples, on
// stages x replicas / chunks ranks.
struct Arrangement {
  int stages = 1;         // K
  int replicas = 1;       // D
  int chunks = 1;         // stages per rank
  int micro_batches = 1;  // of one replica
  int64_t micro_batch_size = 1;
  std::string schedule = "1f1b";
  std::string recompute = "stage";  // none | stage | layer
  std::vector<int> split = {};      // layers per stage; empty: to be chosen
  bool exact = false;               // pipeline.reduction = "exact": gradients are added up in pairs
  // optimizer.sharded: each replica updates its share of the weights, and keeps the states of that.
  bool shared = false;
  bool barrier = true;  // optimizer.barrier: updates wait for all ranks' gradients
  int64_t audit = 0;    // run.audit: one in so many steps is audited; 0: none is

  [[nodiscard]] int ranks() const { return stages / chunks; }  // of one pipeline
  // How the arrangement cuts a replica's samples into micro-batches.
  [[nodiscard]] MicroBatches cut() const { return {micro_batch_size, micro_batches > 1}; }
  // How many tensors of the gradients' size are needed: the gradients and, where they are added in
  // pairs, the partial sums (runtime/network/stage/pairwise_sum.h).
  [[nodiscard]] int gradient_copies() const {
    return exact ? 1 + std::bit_width(static_cast<unsigned>(micro_batches - 1)) : 1;
  }
  // The share of a stage's updates and of the optimizer's state that one replica has.
  [[nodiscard]] double update_share() const { return shared ? 1.0 / replicas : 1.0; }
  // False where gradients are added in pairs over several replicas, but a replica's micro-batches
  // are no power of two and so no whole branch of the tree.
  [[nodiscard]] bool can_be_added() const {
    return !exact || replicas == 1 || std::has_single_bit(static_cast<unsigned>(micro_batches));
  }
};

struct Cluster {
  LinkTimes within_node, between_nodes;
  int ranks_per_node = 0;            // 0: all ranks on one node
  std::string placement = "stages";  // stages | replicas: which neighbours share a node
  // True: links hold what they send instead of copying it, as NCCL's do. A send waits where a
  // window of messages is under way, the smallest that the schedule can run with
  // (schedule/proof/window.h). False: sends never wait.
  bool sends_wait = false;
  bool late_weights = true;  // shared weights come during the next step (PipelineCosts)
  int64_t memory_bytes = 0;  // of each rank's device; 0: no limit
};

}  // namespace penstock
