// launch/program/help/command_form.h -- CommandForm: the name and the texts of a command, from
// which its parsing, --help, the manual page and the shell's completion are made, together with its
// options (of the library Boost.Program_options).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace boost::program_options {
class options_description;
}  // namespace boost::program_options

namespace penstock {

// The options that a command has besides the keys of a run file. Each has a long name, a
// description and, unless it is a flag (flag.h), a value with a name for --help.
using CommandOptions = boost::program_options::options_description;

struct CommandForm {
  std::string name;  // "train"
  // What --help calls the operand, "RUNFILE.toml"; empty: the command takes none.
  std::string operand = {};
  std::string summary;       // a line for the list of commands
  std::string about;         // paragraphs for its own --help, in lines of at most 100 columns
  std::string closing = {};  // the text below its options
  bool needs_ranks = false;  // whether it is started by mpirun
  bool takes_keys = true;    // whether the keys of a run file are options as well
  bool lists_keys = false;   // whether its --help lists all these keys
  std::function<CommandOptions()> options = {};  // makes its own options; empty: it has none
};

// Makes CommandForm::options of `into`, which makes options that store their values in a struct:
// here in one that nobody reads, since these options are for texts only.
template <class Values>
[[nodiscard]] std::function<CommandOptions()> unread(CommandOptions (*into)(Values&)) {
  return [into] {
    Values unread_values;
    return into(unread_values);
  };
}
// The command's own options, for texts.
[[nodiscard]] CommandOptions own_options(const CommandForm& form);

// The text of --help for a command, at most 100 columns wide.
[[nodiscard]] std::string command_help(const CommandForm& form);

// Parses the arguments: stores the values of `options` in the variables for which each option was
// made, and returns all other arguments in their order (operands and, where the form takes them,
// keys of the run file) for read_settings(). Every option may be written `--name value` or
// `--name=value`. Throws Error(Input) for an option without its value, a value of the wrong form,
// and an unknown option.
[[nodiscard]] std::vector<std::string> read_options(const CommandForm& form,
                                                    const CommandOptions& options,
                                                    const std::vector<std::string>& arguments);

}  // namespace penstock
