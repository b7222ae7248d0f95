// launch/program/program.cpp -- the `penstock` program: the one Session, the one catch.
#include "launch/program/program.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "kernels/suggest.h"
#include "launch/program/commands/commands.h"
#include "launch/program/commands/plan_command.h"
#include "launch/program/commands/report_command.h"
#include "launch/program/commands/schedule_command.h"
#include "launch/program/failure.h"
#include "launch/program/inspect/inspect_command.h"
#include "launch/program/options/command_line.h"
#include "launch/program/options/help.h"
#include "launch/program/options/reference.h"
#include "launch/program/output.h"
#include "launch/program/processor/processor_check.h"
#include "launch/version.h"

namespace penstock {
namespace {

struct Command {
  const char* name;
  int (*run)(Session&, const Arguments&, const ModelMaker&);
  std::string (*help)();
};
constexpr Command kCommands[] = {
    {"train", train_command, train_help},
    {"eval", eval_command, eval_help},
    {"translate", translate_command, translate_help},
    {"generate", generate_command, generate_help},
    {"profile", profile_command, profile_help},
    {"info", info_command, info_help},
};

const Command* find_command(const std::string& name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

// What needs no ranks, and so must not need a working MPI either.
std::optional<std::string> plain_answer(const CommandLine& line, const ModelMaker& models) {
  const Command* command = find_command(line.command);
  if (command != nullptr && wants_help(line.arguments)) return command->help();
  if (line.command == "schedule") {
    return wants_help(line.arguments) ? schedule_help()
                                      : schedule_text(line.arguments, standard_output());
  }
  if (line.command == "plan") {
    return wants_help(line.arguments) ? plan_help() : plan_text(line.arguments, models);
  }
  if (line.command == "report") {
    return wants_help(line.arguments) ? report_help() : report_text(line.arguments);
  }
  if (line.command == "inspect" && wants_help(line.arguments)) return inspect_help();
  if (line.command == "help" && line.arguments == Arguments{"run-file"}) {
    return run_file_reference();
  }
  if (line.command.empty() || wants_help({line.command}) || line.command == "help") {
    return general_help();
  }
  if (line.command == "--version" || wants_version(line.arguments)) {
    return fmt::format("penstock {}\n", kVersion);
  }
  return std::nullopt;
}

int dispatch(Session& session, const CommandLine& line, const ModelMaker& models) {
  const Command* command = find_command(line.command);
  if (command != nullptr) return command->run(session, line.arguments, models);
  std::vector<std::string> names = {"schedule", "plan", "inspect", "report"};
  for (const Command& known : kCommands) {
    names.emplace_back(known.name);
  }
  std::string hint = did_you_mean(line.command, names);
  if (hint.empty()) hint = "; `penstock --help` lists the commands";
  throw Error(ErrorKind::Input, fmt::format("unknown command '{}'{}", line.command, hint),
              ErrorScope::EveryRank);
}

int run(Session& session, const CommandLine& line, const ModelMaker& models) {
  int exit_code = 0;
  try {
    exit_code = dispatch(session, line, models);
  } catch (...) {
    exit_code = report(session, current_failure());
  }
  session.end_together(exit_code);
  return exit_code;
}

int start(int argc, char** argv, const ModelMaker& models) {
  const CommandLine line = split_command(argc, argv);
  if (const std::optional<std::string> answer = plain_answer(line, models)) {
    write_answer(*answer);
    return line.command.empty() ? static_cast<int>(ErrorKind::Input) : 0;
  }
  if (line.command == "inspect") {
    const Inspection found = inspect(line.arguments, models);
    write_answer(found.text);
    return found.exit_code;
  }
  Session session(argc, argv);
  return run(session, line, models);
}

}  // namespace

int run_program(int argc, char** argv, const ModelMaker& models) {
  if (!penstock_processor_fits) return static_cast<int>(ErrorKind::Resource);
  try {
    return start(argc, argv, models);
  } catch (...) {  // MPI did not start
    const Failure failure = current_failure();
    print_error(failure.what);
    return static_cast<int>(failure.kind);
  }
}

}  // namespace penstock
