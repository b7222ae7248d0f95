// launch/program/options/command_line.h -- `penstock COMMAND RUNFILE.toml [--section.key value
// ...]`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/program/options/settings.h"

namespace penstock {

struct CommandLine {
  std::string command;                 // "train"; empty: none given
  std::vector<std::string> arguments;  // what follows it
};
[[nodiscard]] CommandLine split_command(int argc, const char* const* argv);

// True when one of the arguments asks for it (`--help`, `-h`, `--version`).
[[nodiscard]] bool wants_help(const std::vector<std::string>& arguments);
[[nodiscard]] bool wants_version(const std::vector<std::string>& arguments);

// Whether a key of the run file, or its short name, may be written `--name`.
[[nodiscard]] bool is_argument(std::string_view name);
// Refuses an unknown option: throws Error(Input) with the nearest name, or else with where all are
// listed (`penstock COMMAND --help`). `own`: the command's own options.
[[noreturn]] void refuse_argument(const std::string& written, const std::string& command = "train",
                                  const std::vector<std::string>& own = {});

// Applies the defaults, then the run file, then the options, and then complete(). The run file is
// the one argument without `--`; it may be missing unless `required`; a run directory stands for
// the file in it. An option given twice counts as the last one says, unless it adds up
// (Option::repeats). Throws Error(Input).
[[nodiscard]] Settings read_settings(const std::vector<std::string>& arguments, bool required,
                                     DataRead read = DataRead::All);

}  // namespace penstock
