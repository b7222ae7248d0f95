// runtime/planning/drawing/terminal.h -- terminal_text(): a simulated pipeline schedule (answer.h)
// as text for a terminal: what `penstock schedule` prints.
//
// The text is the chart of runtime/planning/schedule/text/draw.h (a row for each rank, time from
// left to right), with the step's length, its bubble and the peak stashes below it.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

struct TerminalStyle {
  int columns = 0;       // the longest line of the chart, in characters; 0: no limit
  bool colours = false;  // whether to colour the chart by ANSI escapes
};

[[nodiscard]] std::string terminal_text(const ScheduleAnswer& answer,
                                        const TerminalStyle& terminal);

}  // namespace penstock
