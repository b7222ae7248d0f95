// runtime/planning/schedule/well_formed.h -- check_well_formed(): refuses a Schedule (schedule.h)
// whose fields contradict one another, so that other code may index by them safely.
//
// It looks at one field or one instruction at a time: the sizes of lists agree, every stage has a
// rank and every rank a stage, and every instruction names a stage of its own rank, a micro-batch
// of the step and, for a message, a stage of another rank at its other end: the next or previous
// stage, or the other end of a skip connection. Whether the instructions together make a correct
// step is checked later, by verify() (proof/verify.h). lower() and draw() need no more than
// well-formed schedules.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The most stages of a schedule, and the largest product stages x micro-batches. Both are far above
// any real pipeline; they make a mistyped size an error instead of an hour of computing.
inline constexpr int kMaxStages = 1 << 14;
inline constexpr int kMaxCells = 1 << 24;

// Throws std::invalid_argument unless each size is at least 1 and both limits are kept; the number
// of stages is ranks x chunks.
void check_sizes(int ranks, int chunks, int micro_batches);

// Throws std::invalid_argument for the first field or instruction that makes no sense, which its
// message names.
void check_well_formed(const Schedule& schedule);

// Returns how error messages point at instruction number `index` of the program of `rank`, both
// counted from 0: "B1.3 (instruction 5 of rank 1)", where B1.3 is the backward of stage 1 for
// micro-batch 3 (text() in schedule.h) and 5 is index + 1.
[[nodiscard]] std::string where(const Schedule& schedule, int rank, int index);

}  // namespace penstock
