// launch/program/commands/schedule_command.h -- `penstock schedule`: prints the instructions of
// every rank for a pipeline schedule, as a drawing or as data. One process does it, without ranks.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/planning/drawing/terminal.h"

namespace penstock {

// Does the command and returns what is printed, by the options: a drawing with its figures as text,
// SVG or an HTML page; the compute instructions as CSV; JSON; or a trace. Text is drawn to fit
// `terminal`. Throws Error(Input) or, from runtime/planning, std::invalid_argument.
[[nodiscard]] std::string schedule_text(const std::vector<std::string>& arguments,
                                        const TerminalStyle& terminal = {});
// The command's texts and its own options, for command_table.h.
[[nodiscard]] const CommandForm& schedule_form();

// The style for standard output: where it is a terminal, its width, and colours unless the
// environment variable NO_COLOR is set (no-color.org).
[[nodiscard]] TerminalStyle standard_output();

}  // namespace penstock
