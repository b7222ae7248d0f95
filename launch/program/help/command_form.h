// launch/program/help/command_form.h -- CommandForm: a command's name, operand and texts. Parsing,
// --help, the manual page and completion are made from it and the command's options
// (Boost.Program_options).
#pragma once

#include <string>
#include <vector>

namespace boost::program_options {
class options_description;
}  // namespace boost::program_options

namespace penstock {

// The options that are a command's own. Each has a long name, a description, and, unless it is a
// flag, a value with a value_name().
using CommandOptions = boost::program_options::options_description;

struct CommandForm {
  std::string name;
  std::string operand = {};  // "RUNFILE.toml"
  std::string summary;       // a line, for the list of commands
  std::string about;         // paragraphs, for its own --help; lines of at most 100 columns
  std::string closing = {};  // the text below its options
  bool needs_ranks = false;  // it is started by mpirun
  bool takes_keys = true;    // the keys of a run file are options as well
  bool lists_keys = false;   // its --help lists all those keys
};

// The text of --help for a command, at most 100 columns wide.
[[nodiscard]] std::string command_help(const CommandForm& form, const CommandOptions& options);

// Stores the values of `options` among the arguments in the variables that each option was made
// for. Every option may be written `--name value` or `--name=value`. Returns the other arguments in
// their order: operands and, where the form takes them, keys of the run file, for read_settings().
// Throws Error(Input) for an option without its value, a value of the wrong form, and an option
// that neither the command nor, where it takes keys, the run file has.
[[nodiscard]] std::vector<std::string> read_options(const CommandForm& form,
                                                    const CommandOptions& options,
                                                    const std::vector<std::string>& arguments);

}  // namespace penstock
