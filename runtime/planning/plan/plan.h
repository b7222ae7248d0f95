// runtime/planning/plan/plan.h -- plan(): all ways to run one mini-batch on a number of ranks,
// fastest first, by stages, replicas, micro-batches, schedule and recompute mode, each with its
// best split.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/planning/plan/predict.h"

namespace penstock {

struct PlanRequest {
  int ranks = 1;           // of all replicas together
  int64_t mini_batch = 1;  // samples of a step, the same in every candidate
  Cluster cluster;
  // The costs of the network for micro-batches of that cut; called once per cut.
  std::function<ModelCosts(MicroBatches)> costs;

  // Values to keep; those without one are varied.
  std::optional<int> stages, replicas, chunks, micro_batches;
  std::optional<int64_t> micro_batch_size;
  std::optional<std::string> schedule, recompute;
  std::vector<int> split;  // layers per stage; empty: chosen
  bool exact = false;      // gradients are added up in pairs (pipeline.reduction = "exact")
  bool shared = false;     // replicas share updates and their state out (optimizer.sharded)
  bool barrier = true;     // updates wait for all ranks' gradients (optimizer.barrier)
  int64_t audit = 0;       // one in so many steps is audited (run.audit); 0: none is

  // How many of the fastest candidates must be simulated; others may be left out.
  int wanted = 20;
  int64_t most_instructions = int64_t{1} << 22;  // candidates with more are not simulated
};

enum class Standing : uint8_t {
  Ranked,        // fits, and was simulated
  NotSimulated,  // cannot be one of the fastest, or has too many instructions; may not fit
  Infeasible,    // does not fit the memory, or cannot be built
};

struct PlannedCandidate {
  Arrangement candidate;  // the split is empty where none was chosen
  Standing standing = Standing::Ranked;
  std::string reason = {};     // why it is not Ranked
  Prediction prediction = {};  // without timeline and bytes; only `memory` where it did not fit
};

struct Plan {
  int64_t parameters = 0;                    // numbers trained, of the network
  std::vector<PlannedCandidate> candidates;  // Ranked ones by mean_step_s, then NotSimulated, then
                                             // Infeasible
  [[nodiscard]] const PlannedCandidate* best() const {
    const bool any = !candidates.empty() && candidates[0].standing == Standing::Ranked;
    return any ? &candidates[0] : nullptr;
  }
};

// Tries all numbers of stages K and replicas D with K x D / chunks = ranks, every micro-batch size
// that divides the replica's share of the mini-batch, every schedule (those that take any number of
// chunks with 2 and 4), and every recompute mode; a pipeline of one rank has no order to choose and
// is tried with 1f1b only. Leaves mode stage out where it would recompute nothing, as mode none.
// Does not simulate a candidate that a lower bound, the work of its slowest rank, excludes from the
// `wanted` fastest. Throws std::invalid_argument for a request that no candidate meets, or what
// costs() throws.
[[nodiscard]] Plan plan(const PlanRequest& request);

}  // namespace penstock
