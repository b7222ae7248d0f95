// runtime/planning/drawing/terminal.cpp -- see terminal.h.
#include "runtime/planning/drawing/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "runtime/planning/schedule/text/draw.h"

namespace penstock {
namespace {

// Returns the escape sequence for dark text on the colour that the SVG has for an op, or nullptr
// for a letter that is no op. The colours are among the 256 that terminals have in common.
const char* colour_of(char op) {
  switch (op) {
    case 'F':
      return "\x1b[38;5;16;48;5;111m";
    case 'R':
      return "\x1b[38;5;16;48;5;183m";
    case 'I':
    case 'B':
      return "\x1b[38;5;16;48;5;115m";
    case 'W':
      return "\x1b[38;5;16;48;5;221m";
    default:
      return nullptr;
  }
}

// Returns the picture with colours. A colour begins at the letter of an op and ends at the next
// blank or the next op.
std::string coloured(const std::string& picture) {
  std::string out;
  bool inside = false;
  for (const char c : picture) {
    const char* colour = colour_of(c);
    if (inside && (colour != nullptr || std::isspace(static_cast<unsigned char>(c)) != 0)) {
      out += "\x1b[0m";
      inside = false;
    }
    if (colour != nullptr) {
      out += colour;
      inside = true;
    }
    out += c;
  }
  return out;
}

}  // namespace

std::string terminal_text(const ScheduleAnswer& answer, const TerminalStyle& terminal) {
  const std::string picture = draw(answer.schedule, answer.timeline, terminal.columns);
  const double time = makespan(answer.timeline);
  const double bubble = makespan_bubble(answer.timeline);
  const bool halves =
      std::ranges::any_of(answer.peak_weight_halves, [](int most) { return most > 0; });
  return fmt::format(
      "{}\n{}; {}\n"
      "makespan    {:g}\nbubble      {:g} ({:.1f} %) of the makespan, {:g} of the longest span\n"
      "peak stash  {} (micro-batches x stages held, by rank)\n{}",
      terminal.colours ? coloured(picture) : picture, title(answer), answer.costs, time, bubble,
      100.0 * bubble_share(answer.timeline), span_bubble(answer.timeline),
      fmt::join(answer.peak_stash, " "),
      halves ? fmt::format("halves      {} (with weight gradients still to come, by rank)\n",
                           fmt::join(answer.peak_weight_halves, " "))
             : "");
}

}  // namespace penstock
