// runtime/planning/schedule/generators/placement.h -- empty schedules with their stages placed on
// ranks.
//
// A generator starts from looped() or folded() and writes the programs. Both throw
// std::invalid_argument for sizes below 1 or too large (well_formed.h).
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Stage s on rank s mod ranks; chunks = 1 is the plain pipeline, one stage per rank.
[[nodiscard]] Schedule looped(int ranks, int chunks, int micro_batches);

// A V: rank r holds stages r and 2 * ranks - 1 - r, so the first and the last stage share rank 0.
[[nodiscard]] Schedule folded(int ranks, int micro_batches);

}  // namespace penstock
