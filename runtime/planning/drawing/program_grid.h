// runtime/planning/drawing/program_grid.h -- the programs of all schedules at the sizes that the
// page's sliders reach. The page itself works out how long an instruction takes and when it runs
// (page/programs.js).
#pragma once

#include <string>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The largest sizes of the grid: it has every schedule at every number of ranks and micro-batches
// from 1 on, with the stages per rank that it has unless others are asked for, and with all others
// that it can be asked for.
struct GridLimits {
  int ranks = 16, micro_batches = 32, chunks = 4;
};

// {"ranks", "micro_batches", "chunks": the limits, "programs": {"1f1b 4x1": {"at": rank_of_stage,
// "of": [text or {"error": sentence}, by micro-batches less 1]}}}. A text is run_length_form() of
// packed_programs() (run_lengths.h). 1.4 MB.
[[nodiscard]] std::string program_grid_json(const GridLimits& limits = {});

// One letter for an instruction, ranks apart by a space: 'A' + 4 x (the place of the stage among
// its rank's) + 0 for F, 1 for I, 2 for W, 3 for B. Micro-batches need not be told: a stage's
// forwards take them in ascending order, and so do its backwards, of which some are in halves and
// some are not; a weight half is of the oldest input half that still waits for one. Throws
// std::invalid_argument where that is not so, and for other instructions than those.
[[nodiscard]] std::string packed_programs(const Schedule& compute_only);

}  // namespace penstock
