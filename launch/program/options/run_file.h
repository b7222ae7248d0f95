// launch/program/options/run_file.h -- reads and writes run files, the configuration of a run as
// TOML, by means of the table of keys (option_table.h).
#pragma once

#include <filesystem>
#include <string>

#include "launch/program/options/settings.h"

namespace penstock {

// Assigns to `settings` what the file at `path` sets. Throws Error(Input) naming file, line and
// key: the file cannot be read or is not TOML, a key is unknown (with the known one most like it),
// a value has the wrong type or is outside its range.
void read_run_file(const std::filesystem::path& path, Settings& settings);

// The same for the text of a run file; `name` stands for the file in messages.
void parse_run_file(const std::string& text, const std::string& name, Settings& settings);

// The whole configuration as a run file, which reads back to the same Config, bit for bit. Its
// first line is kEffectiveHeader, by which a file that the program has written is known.
[[nodiscard]] std::string write_run_file(const Config& config);

}  // namespace penstock
