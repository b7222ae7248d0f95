// launch/program/help/reference.h -- the reference of the run file, docs/run_file.md, made from
// the table of options.
#pragma once

#include <string>

namespace penstock {

// Markdown: a table for each section, in the order of --help.
[[nodiscard]] std::string run_file_reference();

}  // namespace penstock
