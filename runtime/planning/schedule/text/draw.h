// runtime/planning/schedule/text/draw.h -- a schedule as a picture in text.
//
// A row per rank, time from left to right; every compute instruction is as long as it takes. Here
// forwards and halves of backwards take 1, whole backwards 2: draw(one_f_one_b(3, 4)):
//   F0 F1 F2             B0=== F3 B1===    B2===    B3===
//      F0 F1       B0=== F2 B1=== F3 B2===    B3===
//         F0 B0=== F1 B1=== F2 B2=== F3 B3===
#pragma once

#include <string>

#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// `timeline` is that of the schedule's step. Every row ends in a newline and has no blanks before
// it. Cells name op and micro-batch, and the stage too ("F2.0") where a rank holds several; the
// shortest cell is as wide as a name, one that is far shorter than the longest is cut to less, and
// an instruction that takes no time has none. Where that makes rows longer than `columns` (0: any
// length will do), a column is one letter, of the instruction that fills most of its time.
[[nodiscard]] std::string draw(const Schedule& schedule, const Timeline& timeline, int columns = 0);

// The same for a step whose messages take no time, with times as in the picture above. Accepts
// schedules before and after lower(). Throws std::invalid_argument if the schedule is malformed or
// gets stuck, naming where.
[[nodiscard]] std::string draw(const Schedule& schedule, int columns = 0);

}  // namespace penstock
