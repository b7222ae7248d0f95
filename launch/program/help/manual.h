// launch/program/help/manual.h -- makes the manual page of the program and the completion for bash,
// both from the table of commands (command_table.h).
#pragma once

#include <string>

namespace penstock {

[[nodiscard]] std::string manual_page();      // penstock(1), for man, as troff
[[nodiscard]] std::string bash_completion();  // a script that bash sources

}  // namespace penstock
