// runtime/planning/schedule/text/draw.h -- draw(): a schedule as a picture in text.
//
// A row per rank, time from left to right; the length of a cell is the time of its compute
// instruction. Here forwards and halves of backwards take 1, whole backwards 2: draw(one_f_one_b(3,
// 4)):
//   F0 F1 F2             B0=== F3 B1===    B2===    B3===
//      F0 F1       B0=== F2 B1=== F3 B2===    B3===
//         F0 B0=== F1 B1=== F2 B2=== F3 B3===
#pragma once

#include <string>

#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// `timeline` has the times of the schedule's instructions. Every row ends in a newline and has no
// blanks before it. Cells name op and micro-batch, and the stage too ("F2.0") where a rank holds
// several. The shortest cell has room for its name, but the name in a cell far shorter than the
// longest is cut, and an instruction that takes no time has no cell. Where rows would be longer
// than `columns` (0: no limit), each column is one letter, that of the instruction that fills most
// of the column's time.
[[nodiscard]] std::string draw(const Schedule& schedule, const Timeline& timeline, int columns = 0);

// Draws a step whose messages take no time, with the times of the picture above. Accepts schedules
// before and after lower(). Throws std::invalid_argument if the schedule is malformed or gets
// stuck, naming where.
[[nodiscard]] std::string draw(const Schedule& schedule, int columns = 0);

}  // namespace penstock
