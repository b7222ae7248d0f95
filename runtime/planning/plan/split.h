// runtime/planning/plan/split.h -- choose_split(): decides how many layers each stage of one
// candidate of the planner gets: as fast as possible within the memory of each rank.
//
// It uses balance_within() (runtime/planning/partition/limited.h), which treats memory as a sum
// over layers, and then corrects that sum by the exact peak of the candidate's schedule until the
// split fits, or a few rounds have passed.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/plan/predict.h"

namespace penstock {

struct ChosenSplit {
  std::vector<int> split;  // layers of each stage
  // Seconds of the slowest stage for one micro-batch, forward and backward; where ranks hold
  // unequal numbers of stages, times its StageLoads::pace.
  double bottleneck_s = 0;
  bool fits = true;
  std::string reason;              // why it does not fit, in words; empty where it fits
  std::vector<RankMemory> memory;  // what the split needs, by rank of one pipeline
};

// Returns the fastest split in which no rank needs more memory than `cluster` has for it (0: no
// limit). Where ranks are unlike (Cluster::devices) a stage takes what it takes in the slowest
// replica, and slow ranks get fewer layers. Where ranks hold several stages it may only be the
// fastest that a search found (LimitedSplit::proved). candidate.split is not read. `schedule` must
// be the candidate's (schedule_of(), predict.h); `rules` say whether sends wait, and so how long
// messages take memory. Throws std::invalid_argument for more stages than layers.
[[nodiscard]] ChosenSplit choose_split(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, const Cluster& cluster,
                                       const TransportRules& rules = {});

}  // namespace penstock
