// launch/program/sweep/file/plot_section.h -- reads the section [plot] of a sweep file: what the
// plots of the sweep show. It includes toml++, which is a large library, so only sweep_file.cpp
// includes this.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "launch/program/sweep/file/sweep_file.h"

namespace penstock {

// Fills in to.plot from `table`, the section; `file` is the file's path, for messages. Throws
// Error(Input) naming file, line and key.
void read_plot_section(const toml::table& table, const std::string& file, SweepFile& to);

}  // namespace penstock
