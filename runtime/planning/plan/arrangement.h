// runtime/planning/plan/arrangement.h -- Arrangement: one way to run a step on so many ranks.
// Cluster: what it would run on. Plain data.
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
  int stages = 1;    // K
  int replicas = 1;  // D
  int chunks = 1;    // stages per rank
  int micro_batches = 1;
  int64_t micro_batch_size = 1;
  std::string schedule = "1f1b";
  std::string recompute = "stage";  // none | stage | layer
  std::vector<int> split = {};      // layers per stage; empty: to be chosen
  bool exact = false;               // pipeline.reduction: gradients are added up in pairs
  bool shared = false;              // optimizer.sharded: replicas share updates and their state out

  bool barrier = true;  // optimizer.barrier: the update waits for all ranks

  [[nodiscard]] int ranks() const { return stages / chunks; }  // of one pipeline
  [[nodiscard]] MicroBatches cut() const { return {micro_batch_size, micro_batches > 1}; }
  // The number of tensors as large as the gradients: the gradients, and sums that wait for their
  // other half (runtime/network/stage/pairwise_sum.h).
  [[nodiscard]] int gradient_copies() const {
    return exact ? 1 + std::bit_width(static_cast<unsigned>(micro_batches - 1)) : 1;
  }
  // The share of a stage's updates and of the optimizer's state that one replica has.
  [[nodiscard]] double update_share() const { return shared ? 1.0 / replicas : 1.0; }
  // Whether micro-batches can be added in pairs: every replica must add up a whole branch of the
  // tree.
  [[nodiscard]] bool can_be_added() const {
    return !exact || replicas == 1 || std::has_single_bit(static_cast<unsigned>(micro_batches));
  }
};

struct Cluster {
  LinkTimes within_node, between_nodes;
  int ranks_per_node = 0;            // 0: all ranks on one node
  std::string placement = "stages";  // stages | replicas: which neighbours share a node
  // Links do not copy what they send, as NCCL's do not: they hold it, and let a window of messages
  // be under way, the smallest that the schedule can run with (schedule/proof/window.h). False:
  // sends never wait.
  bool sends_wait = false;
  bool late_weights = true;  // as PipelineCosts'
  int64_t memory_bytes = 0;  // of each rank's device; 0: no limit
};

}  // namespace penstock
