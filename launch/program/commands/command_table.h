// launch/program/commands/command_table.h -- every command: what it is called, takes and does. The
// program, its help, the manual page and completion all read this one table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launch/program/commands/commands.h"

namespace penstock {

struct Command {
  // These give its name and texts, and its own options.
  const CommandForm& (*form)();
  CommandOptions (*options)();
  // One of the two is set: on_ranks() is collective over the ranks of the session, alone() uses no
  // MPI. Both return the exit code.
  int (*on_ranks)(Session&, const Arguments&, const ModelMaker&) = nullptr;
  int (*alone)(const Arguments&, const ModelMaker&) = nullptr;
  bool ends_in_good_order = false;  // catches the signals that ask it to stop (stop_signals.h)
};

// The commands, in the order of `penstock --help`.
[[nodiscard]] std::span<const Command> command_table();
[[nodiscard]] const Command* find_command(std::string_view name);  // null when there is none

// The texts of `penstock --help` and of `penstock COMMAND --help`.
[[nodiscard]] std::string general_help();
[[nodiscard]] std::string help_of(const Command& command);

}  // namespace penstock
