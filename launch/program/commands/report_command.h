// launch/program/commands/report_command.h -- `penstock report`: makes one HTML page, report.html,
// of the files in a run directory.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"

namespace penstock {

// Does the command: writes the page and returns what is printed, the page's path. Uses no MPI, and
// changes nothing else in the run directory, which another process may be using. Throws
// Error(Input) for wrong arguments or a directory of no run, Error(Data) for a damaged file in it,
// Error(Resource) for a file that cannot be read or written.
[[nodiscard]] std::string report_text(const std::vector<std::string>& arguments);
// The command's texts and its own options, for command_table.h.
[[nodiscard]] const CommandForm& report_form();

}  // namespace penstock
