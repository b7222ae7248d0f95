// runtime/planning/drawing/terminal.h -- terminal_text(): an answer as text, the picture of draw()
// (text/draw.h) with figures below.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

struct TerminalStyle {
  int columns = 0;       // the longest line, in characters; 0: any length
  bool colours = false;  // ANSI escapes, with the SVG's colours
};

[[nodiscard]] std::string terminal_text(const ScheduleAnswer& answer,
                                        const TerminalStyle& terminal);

}  // namespace penstock
