// launch/program/sweep/file/sweep_section.h -- reads the section [sweep] of a sweep file
// (sweep_file.h), a part of its reader. It includes toml++, which is a large library, so only
// sweep_file.cpp and its parts include this.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "launch/program/sweep/file/sweep_file.h"

namespace penstock {

// Fills in `to` from `table`, the section; `file` is the file's path, for messages. Throws
// Error(Input) naming file, line and key.
void read_sweep_section(const toml::table& table, const std::string& file, SweepFile& to);

// Called when the whole file is read: finds the run file and the script beside the sweep file
// `file` or in the working directory, and chooses the sweep directory where the file names none.
// Throws Error(Input).
void settle_paths(const std::string& file, SweepFile& sweep);

}  // namespace penstock
