// launch/program/help/help.h -- lays out text for --help in columns, at most 100 columns wide in
// all.
#pragma once

#include <string>
#include <vector>

namespace penstock {

struct HelpRow {
  std::string left;   // the option, "--beam N"
  std::string right;  // what it means; help_rows() breaks it into lines and keeps line breaks in it
};

// The rows in two columns; where the left text is too wide the right one begins on the next line.
[[nodiscard]] std::string help_rows(const std::vector<HelpRow>& rows);

// Every key of a run file, section by section, with its short name and its default.
[[nodiscard]] std::string keys_help();

}  // namespace penstock
