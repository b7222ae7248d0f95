// launch/program/hub/export_command.h -- `penstock export`: a trained network as a Hugging Face
// folder.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"

namespace penstock {

// Does what the command does: writes the folder and returns a line that says so. Throws Error as
// export_folder() does.
[[nodiscard]] std::string export_text(const std::vector<std::string>& arguments);

[[nodiscard]] const CommandForm& export_form();
[[nodiscard]] CommandOptions export_command_options();

}  // namespace penstock
