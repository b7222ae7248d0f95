// runtime/planning/plan/split.h -- choose_split(): the split of a candidate's layers over its
// stages, by time and memory.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/plan/predict.h"

namespace penstock {

struct ChosenSplit {
  std::vector<int> split;   // layers per stage
  double bottleneck_s = 0;  // of the slowest stage, one micro-batch forward and back
  bool fits = true;
  std::string reason;              // why it does not fit, in words; empty where it fits
  std::vector<RankMemory> memory;  // what the split needs
};

// The fastest split in which no rank needs more than `memory_bytes` (0: no limit), or the fastest
// found where balance_within() (runtime/planning/partition/limited.h) only searches. That knows
// memory as a sum over layers, so the exact peak of the schedule corrects the sum until the split
// fits or a few rounds are over. `schedule` must be the candidate's. Throws std::invalid_argument
// for more stages than layers.
[[nodiscard]] ChosenSplit choose_split(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, int64_t memory_bytes,
                                       const TransportRules& rules = {});

// "needs 95.23 GiB on rank 0, 80 GiB there" for the fullest rank, or "" when all fit into
// `memory_bytes` (0: no limit).
[[nodiscard]] std::string lack_of_memory(const std::vector<RankMemory>& memory,
                                         int64_t memory_bytes);

}  // namespace penstock
