// launch/program/options/command_line.h -- reads `penstock COMMAND RUNFILE.toml [--section.key
// value ...]` into Settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/program/options/settings.h"

namespace penstock {

struct CommandLine {
  std::string command;                 // "train"; empty: none given
  std::vector<std::string> arguments;  // what follows the command
};
[[nodiscard]] CommandLine split_command(int argc, const char* const* argv);

// Whether one of the arguments is `--help` or `-h`; whether one is `--version`.
[[nodiscard]] bool wants_help(const std::vector<std::string>& arguments);
[[nodiscard]] bool wants_version(const std::vector<std::string>& arguments);

// Whether `name` is a key of the run file ("run.steps") or a short name ("steps"): `--name` is an
// option then.
[[nodiscard]] bool is_argument(std::string_view name);
// Refuses the unknown option `written`: throws Error(Input) with the nearest known name, or else
// with where all are listed (`penstock COMMAND --help`). `own`: the command's own options.
[[noreturn]] void refuse_argument(const std::string& written, const std::string& command = "train",
                                  const std::vector<std::string>& own = {});

// Applies the defaults, then the run file, then the options, and then complete(). The run file is
// the one argument without `--`, which may be missing unless `required`; a run directory stands for
// the run file in it. Of an option given twice the last value counts, unless it is a list that
// grows (Option::repeats). `read`: the data that the command reads. Throws Error(Input).
[[nodiscard]] Settings read_settings(const std::vector<std::string>& arguments, bool required,
                                     DataRead read = DataRead::All);

}  // namespace penstock
