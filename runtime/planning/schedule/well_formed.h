// runtime/planning/schedule/well_formed.h -- check_well_formed(): whether a value is a schedule at
// all.
//
// It looks at one field or one instruction at a time: sizes agree, every stage has a rank, every
// instruction names a stage of its own rank, a micro-batch of the step and, for a message, the
// stage at its other end: a neighbour or the other end of a skip, on another rank. verify() judges
// what instructions mean together; lower() and draw() need no more than this.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Limits far above any real pipeline, so that a mistyped size is an error and not an hour of work:
// stages of a schedule, and stages x micro-batches.
inline constexpr int kMaxStages = 1 << 14;
inline constexpr int kMaxCells = 1 << 24;

// Throws std::invalid_argument unless each size is at least 1 and both limits are kept.
void check_sizes(int ranks, int chunks, int micro_batches);

// Throws std::invalid_argument naming the first field or instruction that makes no sense.
void check_well_formed(const Schedule& schedule);

// "B1.3 (instruction 5 of rank 1)", counted from 1: how errors point at an instruction.
[[nodiscard]] std::string where(const Schedule& schedule, int rank, int index);

}  // namespace penstock
