// launch/program/program.cpp -- the `penstock` program: the one Session, the one catch.
#include "launch/program/program.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/cpu/processor/processor.h"
#include "kernels/suggest.h"
#include "launch/commit.h"
#include "launch/program/commands/command_table.h"
#include "launch/program/failure.h"
#include "launch/program/help/help.h"
#include "launch/program/help/manual.h"
#include "launch/program/help/reference.h"
#include "launch/program/options/command_line.h"
#include "launch/program/output.h"
#include "launch/program/processor/processor_check.h"
#include "launch/program/shell_word.h"
#include "launch/program/stopping/stop_signals.h"
#include "launch/version.h"
#include "runtime/system/comm/launcher.h"

namespace penstock {
namespace {

struct Topic {
  const char* name;
  std::string (*text)();
};
constexpr Topic kTopics[] = {
    {"run-file", run_file_reference}, {"man", manual_page}, {"bash", bash_completion}};

[[noreturn]] void refuse_command(const std::string& name) {
  std::vector<std::string> names = {"help"};
  for (const Command& known : command_table()) names.push_back(known.form().name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = "; `penstock --help` lists the commands";
  fail_input(fmt::format("unknown command '{}'{}", name, hint));
}

// Returns the answer to `penstock help [COMMAND or TOPIC]`.
std::string help(const Arguments& arguments) {
  if (arguments.empty()) return general_help();
  for (const Topic& topic : kTopics) {
    if (arguments[0] == topic.name) return topic.text();
  }
  const Command* command = find_command(arguments[0]);
  if (command == nullptr) refuse_command(arguments[0]);
  if (arguments.size() > 1 && command->form().lists_keys) return section_help(arguments[1]);
  return help_of(*command);
}

// Returns the word behind --help, such as "pipeline", or an empty text if there is none.
std::string help_topic(const Arguments& arguments) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    const bool asks = arguments[i] == "--help" || arguments[i] == "-h";
    if (asks && !arguments[i + 1].starts_with("-")) return arguments[i + 1];
  }
  return "";
}

// Returns the answer to --version. The name and the number stand alone on the first line, because
// tools look for them there.
std::string version() {
  std::string text = fmt::format("penstock {}\n", kVersion);
  if (!kCommit.empty()) text += fmt::format("commit {}\n", kCommit);
  if (!kBuiltWith.empty()) text += fmt::format("with {}\n", kBuiltWith);
  if (!kBuiltWithout.empty()) text += fmt::format("without {}\n", kBuiltWithout);
  if (!kKernelsLevels.empty()) {
    text += fmt::format("kernels for {}, of {}\n", kernels_level(), kKernelsLevels);
  }
  return text;
}

// Returns the answer to help and version, which depends on no run and no machine. Returns nothing
// if the command line asks for something else.
std::optional<std::string> plain_answer(const CommandLine& line) {
  if (line.command == "help") return help(line.arguments);
  if (line.command.empty() || wants_help({line.command})) return general_help();
  const Command* command = find_command(line.command);
  if (command != nullptr && wants_help(line.arguments)) {
    const std::string section = help_topic(line.arguments);
    return section.empty() || !command->form().lists_keys ? help_of(*command)
                                                          : section_help(section);
  }
  if (line.command == "--version" || wants_version(line.arguments)) {
    return version();
  }
  return std::nullopt;
}

int run(Session& session, const CommandLine& line, const ModelMaker& models) {
  int exit_code = 0;
  try {
    const Command* command = find_command(line.command);
    if (command == nullptr) on_every_rank([&] { refuse_command(line.command); });
    exit_code = command->on_ranks(session, line.arguments, models);
  } catch (...) {
    exit_code = report(session, current_failure());
  }
  session.end_together(exit_code);
  return exit_code;
}

// Returns whether the user says that each process has a command of its own, as in a script that a
// launcher starts several times. Nothing but MPI could compare them, and these commands use none.
bool is_farm() {
  const char* wish = std::getenv("PENSTOCK_FARM");
  return wish != nullptr && std::string_view(wish) == "1";
}

// Does a command that needs no ranks. Where a launcher started several processes, the first one
// does it: they would all print the same, and write the same files at once. Every other one says
// what it leaves, since that may be something else than the first one does. A sweep is refused: it
// can take days, and a launcher may end what is left of a job when some processes have ended.
int do_alone(const Command& command, const CommandLine& line, const StartedProcess& process,
             const ModelMaker& models) {
  const int others = process.processes - 1;
  if (others > 0 && command.starts_ranks) {
    on_every_rank([&] {
      fail_input(
          fmt::format("{} starts the ranks of its runs itself, and a launcher started {} "
                      "processes of it: start one, without {}",
                      line.command, others + 1, starter(std::getenv)));
    });
  }
  if (process.number > 0) {
    std::string left = line.command;
    for (const std::string& argument : line.arguments) left += " " + shell_word(argument);
    tell(
        fmt::format("note: process {} of {} leaves `{}` to the first; PENSTOCK_FARM=1 in the "
                    "environment has each do its own",
                    process.number + 1, others + 1, left));
    return 0;
  }
  if (others > 0) {
    tell(
        fmt::format("note: {} needs no ranks: the first of the {} processes does it, the others "
                    "do nothing",
                    line.command, others + 1));
  }
  return command.alone(line.arguments, models);
}

int start(int argc, char** argv, const StartedProcess& process, const ModelMaker& models) {
  const CommandLine line = split_command(argc, argv);
  const auto answer = on_every_rank([&] { return plain_answer(line); });
  if (answer) {
    if (process.number == 0) write_answer(*answer);
    return line.command.empty() ? static_cast<int>(ErrorKind::Input) : 0;
  }
  const Command* command = find_command(line.command);
  if (command != nullptr && command->alone != nullptr) {
    return do_alone(*command, line, process, models);
  }
  // Signals are caught before MPI starts: starting MPI takes most of a second, and a request to
  // stop can arrive in that time.
  if (command != nullptr && command->ends_in_good_order) catch_stop_signals();
  Session session(argc, argv);
  return run(session, line, models);
}

}  // namespace

int run_program(int argc, char** argv, const ModelMaker& models) {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // then write() returns an error at a limit of ulimit -f
  if (!penstock_processor_fits) return static_cast<int>(ErrorKind::Resource);
  // MPI changes the environment later.
  const StartedProcess process = is_farm() ? StartedProcess() : started_process(std::getenv);
  try {
    return start(argc, argv, process, models);
  } catch (...) {  // MPI did not start, or did not join the ranks
    const Failure failure = current_failure();
    if (failure.scope == ErrorScope::EveryRank && process.number > 0) {
      // The launcher ends all ranks as soon as one rank ends. So every rank but the first waits
      // until the first rank has printed.
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    } else {
      print_failure(failure);
    }
    return static_cast<int>(failure.kind);
  }
}

}  // namespace penstock
