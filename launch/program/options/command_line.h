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
// Of an option that is none: throws Error(Input) with the nearest name, or with where all of them
// are told: `penstock COMMAND --help`, where a command has options of its own, `own`.
[[noreturn]] void refuse_argument(const std::string& written, const std::string& command = "train",
                                  const std::vector<std::string>& own = {});

// Defaults, then the run file (the one argument without `--`; `required` says whether it may be
// missing; a run directory stands for the one in it), then the options, the last of equal ones
// winning but where they add up (Option::repeats); then complete(). Throws Error(Input).
[[nodiscard]] Settings read_settings(const std::vector<std::string>& arguments, bool required,
                                     DataRead read = DataRead::All);

}  // namespace penstock
