// runtime/planning/plan/plan.h -- every way to run one mini-batch on so many ranks, fastest first:
// which of stages x replicas x micro-batches x schedule x recompute to ask for, and with which
// split.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/planning/plan/predict.h"

namespace penstock {

struct PlanRequest {
  int ranks = 1;
  int64_t mini_batch = 1;  // samples of a step, the same in every candidate
  Cluster cluster;
  // Costs of the network for a mini-batch cut so; asked once per cut.
  std::function<ModelCosts(MicroBatches)> costs;

  // The values that are not to be varied.
  std::optional<int> stages, replicas, chunks, micro_batches;
  std::optional<int64_t> micro_batch_size;
  std::optional<std::string> schedule, recompute;
  std::vector<int> split;  // empty: chosen
  bool exact = false;      // Arrangement::exact
  bool shared = false;     // Arrangement::shared
  bool barrier = true;     // Arrangement::barrier

  // The number of the fastest candidates that must be simulated; others may be left out.
  int wanted = 20;
  int64_t most_instructions = int64_t{1} << 22;  // of a candidate that is simulated
};

enum class Standing : uint8_t {
  Ranked,        // fits, and was simulated
  NotSimulated,  // cannot be one of the fastest, or has too many instructions; may not fit
  Infeasible,
};

struct PlannedCandidate {
  Arrangement candidate;  // the split is empty where none was chosen
  Standing standing = Standing::Ranked;
  std::string reason = {};     // why not Ranked
  Prediction prediction = {};  // without its timeline; only `memory` where it did not fit
};

struct Plan {
  int64_t parameters = 0;
  std::vector<PlannedCandidate> candidates;  // Ranked ones by step time, then NotSimulated, then
                                             // Infeasible
  [[nodiscard]] const PlannedCandidate* best() const {
    const bool any = !candidates.empty() && candidates[0].standing == Standing::Ranked;
    return any ? &candidates[0] : nullptr;
  }
};

// Tries every K and D with K x D / chunks = ranks, every size of micro-batches that divides the
// replica's share of the mini-batch, every schedule (those that take any number of chunks with 2
// and 4), and every recompute mode; a pipeline of one rank has no order to choose and is tried with
// 1f1b only. Where mode stage recomputes nothing it is mode none again, and not ranked beside it.
// Never simulates candidates that a lower bound, the work of the slowest rank, excludes from the
// `wanted` fastest. Throws std::invalid_argument for a request that no candidate meets, or what
// costs() throws.
[[nodiscard]] Plan plan(const PlanRequest& request);

}  // namespace penstock
