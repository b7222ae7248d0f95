// runtime/planning/plan/split.h -- the split of a candidate's layers over its stages.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/plan/predict.h"

namespace penstock {

struct ChosenSplit {
  std::vector<int> split;
  double bottleneck_s = 0;  // of the slowest stage, one micro-batch forward and back
  bool fits = true;
  std::string reason;              // in words, where it does not fit
  std::vector<RankMemory> memory;  // what the split needs
};

// The fastest split that fits the memory (runtime/planning/partition/limited.h; where that is only
// a search, the fastest found). Partitioning knows memory as a sum over layers; the exact peak of
// the schedule corrects it until both agree. `schedule` must be the candidate's. Throws
// std::invalid_argument for more stages than layers.
[[nodiscard]] ChosenSplit choose_split(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, int64_t memory_bytes,
                                       const TransportRules& rules = {});

// "needs 95.23 GiB on rank 0, 80 GiB there", or "" when all ranks fit; 0: no limit.
[[nodiscard]] std::string lack_of_memory(const std::vector<RankMemory>& memory,
                                         int64_t memory_bytes);

}  // namespace penstock
