// runtime/planning/blueprint/blueprint.h -- draw_up(): from a run's configuration to a Blueprint:
// the network, its cut into stages, and the instructions of every rank, all checked before memory
// is allocated or ranks are connected.
//
// Every rank of a run calls draw_up() with the same configuration and gets the same Blueprint;
// programs that start no run, such as the forecast of a sweep, call it too. check_together(), the
// first thing that it calls, refuses keys that do not go together, unless the message needs a line
// of the run file (launch/program/options/settings.h). It has no side effects,
// so a mistake in the configuration ends a run before it has cost anything.
#pragma once

#include <cstdint>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/planning/blueprint/targets.h"

namespace penstock {

struct Blueprint {
  ModelInput input;     // shape and type of one sample, as the first layer reads it
  Sequential model;     // the layers of the whole network; they hold no weights
  Layout layout;        // which layers make which stage
  Programs programs;    // by rank of one pipeline: the instructions of a step; proved correct
  TargetField targets;  // the batch field that the losses compare with ("labels")
};

// The number of parameters (elements, not bytes) that one rank keeps, over all its stages.
// `position` is the rank's number within its pipeline (replica), from 0.
[[nodiscard]] int64_t parameters_kept(const Blueprint& blueprint, int position);

// Throws Error(Input) for settings that do not go with each other: of audits, barriers, exact
// reductions and norms over replicas. draw_up() calls it.
void check_together(const Config& config);

// `models` builds the network that config.model describes. `vocabulary` (number of token ids) and
// `classes` (number of labels) are those of the data; 0: unknown. Throws Error(Input) for what is
// wrong with the network, the split or the schedule.
[[nodiscard]] Blueprint draw_up(const Config& config, const ModelMaker& models, int64_t vocabulary,
                                int64_t classes);

}  // namespace penstock
