// runtime/planning/plan/stages/unlike_ranks.h -- what one candidate of the planner comes to where
// the ranks of a cluster are unlike (Cluster::devices): which kind of device each stage is on, what
// layers then cost, and what memory ranks have.
//
// Devices belong to world ranks, and a candidate's placement says which of them holds what. So
// replicas may differ, too; a step waits for the slowest of them. Where ranks are alike all of this
// is what it was without them. Throws std::invalid_argument, everywhere below, where
// Cluster::devices is not of as many ranks as the candidate has.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/plan/memory/rank_memory.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The kind of the device that holds each stage, by stage.
using StageKinds = std::vector<int>;

// The kinds in one replica.
[[nodiscard]] StageKinds kinds_of_replica(const Arrangement& candidate, const Schedule& schedule,
                                          const Cluster& cluster, int replica);
// The kinds in all replicas, each list of kinds once.
[[nodiscard]] std::vector<StageKinds> distinct_kinds(const Arrangement& candidate,
                                                     const Schedule& schedule,
                                                     const Cluster& cluster);
// The slowest, by stage: of the kinds that hold it in some replica, the one on which the whole
// network takes longest. The first of equally slow ones.
[[nodiscard]] StageKinds slowest_kinds(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, const Cluster& cluster);

// The costs of a network whose stages, cut by `split`, are on devices of these kinds. `costs` must
// outlive the result, which refers to it where all are of kind 0.
[[nodiscard]] std::shared_ptr<const ModelCosts> placed_costs(const ModelCosts& costs,
                                                             const std::vector<int>& split,
                                                             const StageKinds& kinds);

// The bytes of the device of each rank of one pipeline, in the replica that has the least; 0: no
// limit.
[[nodiscard]] std::vector<int64_t> memory_limits(const Arrangement& candidate,
                                                 const Cluster& cluster);
// predict_memory() (memory/rank_memory.h), for each rank of one pipeline in the replica that needs
// the most. `curve` is that of the first replica.
[[nodiscard]] std::vector<RankMemory> fullest_memory(
    const Arrangement& candidate, const Schedule& schedule, const ModelCosts& costs,
    const Cluster& cluster, const TransportRules& rules = {}, ByteCurve* curve = nullptr);

}  // namespace penstock
