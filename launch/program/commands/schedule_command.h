// launch/program/commands/schedule_command.h -- `penstock schedule`: the instructions of every rank
// for a schedule, drawn or exported, by one process.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/planning/drawing/terminal.h"

namespace penstock {

// What the command prints: a drawing with its figures as text, SVG or page, the compute
// instructions as CSV, JSON, or a trace. The text is made for `terminal`. Needs no MPI. Throws
// Error(Input), or std::invalid_argument from runtime/planning.
[[nodiscard]] std::string schedule_text(const std::vector<std::string>& arguments,
                                        const TerminalStyle& terminal = {});
[[nodiscard]] const CommandForm& schedule_form();
[[nodiscard]] CommandOptions schedule_command_options();

// The width of standard output, and colours unless NO_COLOR is set (no-color.org), where it is a
// terminal.
[[nodiscard]] TerminalStyle standard_output();

}  // namespace penstock
