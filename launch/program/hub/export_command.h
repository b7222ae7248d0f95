// launch/program/hub/export_command.h -- `penstock export`: writes a trained network as a Hugging
// Face folder, which other programs can load.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"

namespace penstock {

// Does the command: writes the folder and returns what is printed, a line about it. Throws
// Error(Input) for wrong arguments or a folder that exists, Error(Data) for a damaged checkpoint,
// Error(Resource) for a full disk; then there is no folder.
[[nodiscard]] std::string export_text(const std::vector<std::string>& arguments);

// The command's texts and its own options, for command_table.h.
[[nodiscard]] const CommandForm& export_form();

}  // namespace penstock
