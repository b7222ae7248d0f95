// launch/main.cpp -- the `penstock` program: the one Session, the one catch.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "launch/command_line.h"
#include "launch/commands.h"
#include "launch/failure.h"
#include "launch/help.h"
#include "launch/suggest.h"
#include "launch/version.h"

namespace penstock {
namespace {

struct Command {
  const char* name;
  int (*run)(Session&, const Arguments&);
  std::string (*help)();
};
constexpr Command kCommands[] = {
    {"train", train_command, train_help},
    {"info", info_command, info_help},
};

const Command* find_command(const std::string& name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

// What needs no ranks, and so must not need a working MPI either.
std::optional<std::string> plain_answer(const CommandLine& line) {
  const Command* command = find_command(line.command);
  if (command != nullptr && wants_help(line.arguments)) return command->help();
  if (line.command.empty() || wants_help({line.command}) || line.command == "help") {
    return general_help();
  }
  if (line.command == "--version" || wants_version(line.arguments)) {
    return fmt::format("penstock {}\n", kVersion);
  }
  return std::nullopt;
}

int dispatch(Session& session, const CommandLine& line) {
  const Command* command = find_command(line.command);
  if (command != nullptr) return command->run(session, line.arguments);
  std::vector<std::string> names;
  for (const Command& known : kCommands) {
    names.emplace_back(known.name);
  }
  std::string hint = did_you_mean(line.command, names);
  if (hint.empty()) hint = "; `penstock --help` lists the commands";
  throw Error(ErrorKind::Input, fmt::format("unknown command '{}'{}", line.command, hint),
              ErrorScope::EveryRank);
}

int run(Session& session, const CommandLine& line) {
  try {
    return dispatch(session, line);
  } catch (...) {
    return report(session, current_failure());
  }
}

int start(int argc, char** argv) {
  const CommandLine line = split_command(argc, argv);
  if (const std::optional<std::string> answer = plain_answer(line)) {
    fmt::print("{}", *answer);
    return line.command.empty() ? static_cast<int>(ErrorKind::Input) : 0;
  }
  Session session(argc, argv);
  return run(session, line);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::start(argc, argv);
  } catch (...) {  // MPI did not start
    const penstock::Failure failure = penstock::current_failure();
    penstock::print_error(failure.what);
    return static_cast<int>(failure.kind);
  }
}
