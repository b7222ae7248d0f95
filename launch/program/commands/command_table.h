// launch/program/commands/command_table.h -- the table of all commands of the program (`train`,
// `eval`, ...), with their names, options and functions. The program itself, its help, the manual
// page and completion in the shell read this one table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launch/program/commands/commands.h"

namespace penstock {

struct Command {
  // Gives its name, texts and own options.
  const CommandForm& (*form)();
  // What the command does; one of the two is set. on_ranks() runs on every rank of an MPI job and
  // is collective over all of them; alone() runs in one process and uses no MPI. Both return the
  // exit code.
  int (*on_ranks)(Session&, const Arguments&, const ModelMaker&) = nullptr;
  int (*alone)(const Arguments&, const ModelMaker&) = nullptr;
  // Catches signals such as SIGTERM and stops by itself (stop_signals.h).
  bool ends_in_good_order = false;
  bool starts_ranks = false;  // of alone(): starts jobs of ranks, and waits for them
};

// The commands, in the order of `penstock --help`.
[[nodiscard]] std::span<const Command> command_table();
// The command with this name; null when there is none.
[[nodiscard]] const Command* find_command(std::string_view name);

// The texts of `penstock --help` and of `penstock COMMAND --help`.
[[nodiscard]] std::string general_help();
[[nodiscard]] std::string help_of(const Command& command);

}  // namespace penstock
