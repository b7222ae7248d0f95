// runtime/planning/schedule/text/draw.h -- draw(): a pipeline schedule as a chart of plain text,
// for terminals and documents.
//
// The chart has a row per rank and time from left to right. Each forward or backward is a cell,
// whose length is the time that it takes; blanks are waiting. draw(one_f_one_b(3, 4)), in which a
// forward takes 1 and a backward 2, is
//
//   F0 F1 F2             B0=== F3 B1===    B2===    B3===
//      F0 F1       B0=== F2 B1=== F3 B2===    B3===
//         F0 B0=== F1 B1=== F2 B2=== F3 B3===
#pragma once

#include <string>

#include "runtime/planning/schedule/schedule.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// Draws a schedule with given times. `timeline` has the start and end of each instruction
// (timing/timeline.h). A cell names op and micro-batch ("F0"), with the stage before the
// micro-batch where a rank holds several ("F2.0": stage 2). The scale is such that the shortest
// cell has room for its name; but a name is cut in a cell that is far shorter than the longest one,
// and an instruction that takes no time has no cell. Where rows would be longer than `columns`
// characters (0: no limit), each column is a single letter: the op that fills most of its time.
// Every row ends in a newline, and has no blanks at its end.
[[nodiscard]] std::string draw(const Schedule& schedule, const Timeline& timeline, int columns = 0);

// Draws a schedule by simulating it: a forward, recompute or half of a backward takes 1, a whole
// backward 2, a message nothing. Accepts schedules before and after lower(). Throws
// std::invalid_argument if the schedule is malformed or deadlocks, naming the instruction.
[[nodiscard]] std::string draw(const Schedule& schedule, int columns = 0);

}  // namespace penstock
