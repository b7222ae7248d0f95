#include "launch/program/help/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/program_options.hpp>

#include "launch/program/commands/command_table.h"
#include "launch/program/help/flag.h"
#include "launch/program/options/option_table.h"
#include "launch/version.h"

namespace penstock {
namespace {

// Returns the text with those characters escaped that troff would interpret: backslashes, hyphens,
// and a dot or quote at the beginning of a line.
std::string troff(const std::string& text) {
  std::string result;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    starts_line = c == '\n';
  }
  return result;
}

std::string command_section(const Command& command) {
  const CommandForm& form = command.form();
  std::string text =
      fmt::format(".SS penstock {} {}\n{}\n", form.name, troff(form.operand), troff(form.about));
  const CommandOptions options = own_options(command.form());
  for (const auto& option : options.options()) {
    const bool alone = is_flag(*option);
    text += fmt::format(".TP\n.B \\-\\-{}{}\n{}\n", troff(option->long_name()),
                        alone ? "" : " " + troff(option->semantic()->name()),
                        troff(option->description()));
  }
  return form.closing.empty() ? text : text + ".PP\n" + troff(form.closing);
}

std::string key_section() {
  std::string text;
  std::string section;
  for (const Option& option : option_table()) {
    if (option.section != section) text += fmt::format(".SS [{}]\n", option.section);
    section = option.section;
    const std::string otherwise = text_of(default_of(option));
    text += fmt::format(".TP\n.B {} {}\n{}{}\n", troff("--" + option.name()), troff(option.symbol),
                        troff(option.help), otherwise.empty() ? "" : troff(" [" + otherwise + "]"));
  }
  return text;
}

// Returns all keys as options, with their short forms: "--pipeline.stages --stages ...".
std::string key_words() {
  std::vector<std::string> words;
  for (const Option& option : option_table()) {
    words.push_back("--" + option.name());
    if (!option.shorthand.empty()) words.push_back("--" + option.shorthand);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::string manual_page() {
  std::string text =
      fmt::format(".TH PENSTOCK 1 \"\" \"penstock {}\" \"User Commands\"\n", kVersion);
  text += ".SH NAME\npenstock \\- trains neural networks in pipeline stages, one MPI rank each\n";
  text +=
      ".SH SYNOPSIS\n.B mpirun \\-n\n.I RANKS\n.B penstock\n.I COMMAND\n[RUNFILE.toml] "
      "[\\-\\-section.key value ...]\n.SH COMMANDS\n";
  for (const Command& command : command_table()) text += command_section(command);
  text += ".SH RUN FILE\nKeys of a run file are options of every command that takes one.\n";
  text += key_section();
  text += R"(.SH EXIT STATUS
0 done; 1 a bug of ours; 2 bad usage or configuration; 3 a resource is missing; 4 a peer died or a
step hung; 5 a data file or checkpoint is damaged; 6 not finite; 75 stopped on request with a
checkpoint.
)";
  return text;
}

std::string bash_completion() {
  std::vector<std::string> names;
  std::string cases;
  for (const Command& command : command_table()) {
    const CommandForm& form = command.form();
    names.push_back(form.name);
    std::vector<std::string> words = {"--help"};
    const CommandOptions options = own_options(command.form());
    for (const auto& option : options.options()) {
      words.push_back("--" + option->long_name());
    }
    cases += fmt::format("    {}) words=\"{}{}\" ;;\n", form.name, fmt::join(words, " "),
                         form.takes_keys ? " $keys" : "");
  }
  return fmt::format(R"(# Completion of penstock for bash: source <(penstock help bash)
_penstock() {{
  local keys="{}"
  local words="{} help --help --version" word=${{COMP_WORDS[COMP_CWORD]}} command= i
  for ((i = 0; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in
      penstock | */penstock) command=${{COMP_WORDS[i + 1]}} ;;
    esac
  done
  [ "$command" != "$word" ] || command=
  case $command in
{}  esac
  COMPREPLY=()
  if [[ -z $command || $word == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"); fi
  if [[ -n $command && $word != -* ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$word"); fi
}}
complete -o filenames -F _penstock penstock
)",
                     key_words(), fmt::join(names, " "), cases);
}

}  // namespace penstock
