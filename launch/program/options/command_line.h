// launch/program/options/command_line.h -- reads the words of a command line, `penstock COMMAND
// RUNFILE.toml [--section.key value ...]`, into Settings (settings.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/program/options/settings.h"

namespace penstock {

struct CommandLine {
  std::string command;                 // "train"; empty: none is given
  std::vector<std::string> arguments;  // the words behind the command
};
// Takes the command line of main() apart.
[[nodiscard]] CommandLine split_command(int argc, const char* const* argv);

// Whether one of the arguments is `--help` or `-h`, and whether one is `--version`.
[[nodiscard]] bool wants_help(const std::vector<std::string>& arguments);
[[nodiscard]] bool wants_version(const std::vector<std::string>& arguments);

// Whether `name`, without `--`, is a key of the run file ("run.steps") or a short name of one
// ("steps").
[[nodiscard]] bool is_argument(std::string_view name);
// Refuses the unknown option `written`: throws Error(Input) with the known name that is most like
// it, or else with how to list all (`penstock COMMAND --help`). `own`: the names of the command's
// own options.
[[noreturn]] void refuse_argument(const std::string& written, const std::string& command = "train",
                                  const std::vector<std::string>& own = {});

// Makes the settings of a run, in this order: defaults, the run file, the options, complete(). Then
// check_read() refuses keys that nothing reads. The run file is the one argument without `--`, or a
// run directory that has one; it may be missing unless `required`. When an option is given with
// two values the last one counts, and a note on standard error says so; lists with Option::repeats
// grow instead. `read`: which data the command reads. Throws Error(Input).
[[nodiscard]] Settings read_settings(const std::vector<std::string>& arguments, bool required,
                                     DataRead read = DataRead::All);

}  // namespace penstock
