// launch/program/sweep/sweep_section.h -- the section [sweep] of a sweep file. Includes toml++, so
// only what reads that file includes this.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "launch/program/sweep/sweep_file.h"

namespace penstock {

// Throws Error(Input) naming file, line and key.
void read_sweep_section(const toml::table& table, const std::string& file, SweepFile& to);

// Finds the run file and the script, beside the sweep file or in the working directory, and names
// the sweep directory where the file does not; called once all is read. Throws Error(Input).
void settle_paths(const std::string& file, SweepFile& sweep);

}  // namespace penstock
