// runtime/planning/blueprint/blueprint.h -- draw_up(): decides and proves all that can be known of
// a run before anything is allocated or connected. Pure.
#pragma once

#include <cstdint>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/planning/blueprint/targets.h"

namespace penstock {

struct Blueprint {
  ModelInput input;
  Sequential model;
  Layout layout;
  Programs programs;    // verified
  TargetField targets;  // of its losses
};

// The number of parameters that the rank at that position of a pipeline keeps, over all its stages
// (Layout::parameters_kept), for the tables of ranks.
[[nodiscard]] int64_t parameters_kept(const Blueprint& blueprint, int position);

// Throws Error(Input) for settings that do not go with each other: of audits, barriers, exact
// reductions and norms over replicas. draw_up() calls it.
void check_together(const Config& config);

// `vocabulary` and `classes` are those of the data; 0: unknown. Throws Error(Input) for what is
// wrong with the network, the split or the schedule.
[[nodiscard]] Blueprint draw_up(const Config& config, const ModelMaker& models, int64_t vocabulary,
                                int64_t classes);

}  // namespace penstock
