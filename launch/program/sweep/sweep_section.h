// launch/program/sweep/sweep_section.h -- reads the section [sweep] of a sweep file. Includes
// toml++, so only sweep_file.cpp and its parts include this.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "launch/program/sweep/sweep_file.h"

namespace penstock {

// Fills in `to` from the section, `table`. Throws Error(Input) naming file, line and key.
void read_sweep_section(const toml::table& table, const std::string& file, SweepFile& to);

// Called once the whole file is read: finds the run file and the script, beside the sweep file or
// in the working directory, and names the sweep directory where the file does not. Throws
// Error(Input).
void settle_paths(const std::string& file, SweepFile& sweep);

}  // namespace penstock
