// launch/program/options/run_file.h -- reads and writes the run file (TOML), by the keys of
// option_table.h.
#pragma once

#include <filesystem>
#include <string>

#include "launch/program/options/settings.h"

namespace penstock {

// Assigns to `settings` what the file sets. Throws Error(Input) naming file, line and key: not
// readable, not TOML, an unknown key (with the nearest known one), a wrong type, a value outside
// its range.
void read_run_file(const std::filesystem::path& path, Settings& settings);

// Assigns what `text` sets, as read_run_file() does; `name` stands for the file in messages.
void parse_run_file(const std::string& text, const std::string& name, Settings& settings);

// The whole configuration as a run file: reads back to the same Config, bit for bit. Its first line
// is kEffectiveHeader.
[[nodiscard]] std::string write_run_file(const Config& config);

}  // namespace penstock
