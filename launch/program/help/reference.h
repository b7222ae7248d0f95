// launch/program/help/reference.h -- makes docs/run_file.md, the reference of all keys of a run
// file, from the table of options (option_table.h).
#pragma once

#include <string>

namespace penstock {

// The page as Markdown: a table for each section, in the order of --help.
[[nodiscard]] std::string run_file_reference();

}  // namespace penstock
