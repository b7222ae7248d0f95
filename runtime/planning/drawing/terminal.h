// runtime/planning/drawing/terminal.h -- an answer as text: the grid of draw(), and its figures
// below.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

struct TerminalStyle {
  int columns = 0;       // that a line may have; 0: any number
  bool colours = false;  // as ANSI escapes, the ops coloured as in the SVG
};

[[nodiscard]] std::string terminal_text(const ScheduleAnswer& answer,
                                        const TerminalStyle& terminal);

}  // namespace penstock
