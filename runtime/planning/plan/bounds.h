// runtime/planning/plan/bounds.h -- how short a step of one candidate of the planner can be at
// best. Where others are certainly faster, plan() (plan.h) need not simulate it.
#pragma once

#include "runtime/planning/plan/arrangement.h"
#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Seconds that a step takes at least, however the layers are split: the work of a rank if all ranks
// had the same, or as much as each is fast, and the time for which sums over replicas keep a
// network card busy.
[[nodiscard]] double least_step(const Arrangement& candidate, const ModelCosts& costs,
                                const Cluster& cluster);

// Seconds that a step takes at least with candidate.split: those of the rank with the most work,
// and of the cards, which carry no sum before a stage has begun its last backward. `schedule` must
// be the candidate's.
[[nodiscard]] double least_split_step(const Arrangement& candidate, const Schedule& schedule,
                                      const ModelCosts& costs, const Cluster& cluster);

}  // namespace penstock
