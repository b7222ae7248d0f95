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

// Every key of a run file, section by section, with its short name and its default; before them the
// keys that have short names, which are those that people change most.
[[nodiscard]] std::string keys_help();

// The keys of that section alone, "pipeline" say. Throws Error(Input) where there is no such
// section, with the names of all.
[[nodiscard]] std::string section_help(const std::string& section);

}  // namespace penstock
