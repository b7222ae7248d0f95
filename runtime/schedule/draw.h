// runtime/schedule/draw.h -- a schedule as a picture in text.
//
// A row per rank, a column per slot; every compute instruction takes one slot and starts as early
// as its order and its inputs allow; messages take no time. draw(one_f_one_b(3, 4)):
//   F0 F1 F2       B0 F3 B1    B2    B3
//      F0 F1    B0 F2 B1 F3 B2    B3
//         F0 B0 F1 B1 F2 B2 F3 B3
#pragma once

#include <string>

#include "runtime/schedule/schedule.h"

namespace penstock {

// Every row ends in a newline and has no blanks before it. Cells name op and micro-batch, and the
// stage too ("F2.0") where a rank holds several. Where that makes rows longer than `columns` (0:
// any length will do), a slot is a single letter; and where that is still too long, a letter stands
// for several slots, for what fills most of them. Accepts schedules before and after lower().
// Throws std::invalid_argument if the schedule is malformed or gets stuck, naming where.
[[nodiscard]] std::string draw(const Schedule& schedule, int columns = 0);

}  // namespace penstock
