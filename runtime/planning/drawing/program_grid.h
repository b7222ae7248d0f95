// runtime/planning/drawing/program_grid.h -- the programs of all schedules at all sizes that the
// page's sliders reach, as JSON. The page itself computes when each instruction runs
// (page/programs.js).
#pragma once

#include <string>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The largest sizes of the grid, which holds every schedule at every number of ranks and
// micro-batches from 1 on, and with every number of stages per rank that it can have.
struct GridLimits {
  int ranks = 16, micro_batches = 32, chunks = 4;
};

// {"ranks", "micro_batches", "chunks": the limits, "programs": {"1f1b 4x1": {"at": rank_of_stage,
// "of": [text or {"error": sentence}, by micro-batches less 1]}}}, where 4x1 is ranks x chunks. A
// text is run_length_form() of packed_programs() (run_lengths.h). 1.4 MB with the default limits.
[[nodiscard]] std::string program_grid_json(const GridLimits& limits = {});

// One letter for each instruction, a space between ranks: 'A' + 4 x (the place of the stage among
// its rank's) + 0 for F, 1 for I, 2 for W, 3 for B. Micro-batches are left out, since they follow:
// forwards of a stage take them in ascending order, and so do its backwards, whole or input halves;
// a weight half belongs to the oldest input half that has none yet. Throws std::invalid_argument
// where that does not hold, and for other instructions.
[[nodiscard]] std::string packed_programs(const Schedule& compute_only);

}  // namespace penstock
