// launch/program/commands/report_command.h -- `penstock report`: a run directory as one page.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"

namespace penstock {

// Writes the page and returns what the command prints: the page's path. Needs no MPI, and writes
// nothing else to the run directory, which another process may hold. Throws Error(Input) for bad
// usage, otherwise as read_run_files() and run_page() do.
[[nodiscard]] std::string report_text(const std::vector<std::string>& arguments);
[[nodiscard]] const CommandForm& report_form();
[[nodiscard]] CommandOptions report_command_options();

}  // namespace penstock
