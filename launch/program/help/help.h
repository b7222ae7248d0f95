// launch/program/help/help.h -- text for --help, at most 100 columns wide.
#pragma once

#include <string>
#include <vector>

namespace penstock {

struct HelpRow {
  std::string left;   // "--beam N"
  std::string right;  // what it means; help_rows() breaks it into lines, and keeps its own breaks
};

// Two columns, the right one below the left one where that is too wide.
[[nodiscard]] std::string help_rows(const std::vector<HelpRow>& rows);

// Every key of a run file, by section, with shorthand and default.
[[nodiscard]] std::string keys_help();

}  // namespace penstock
