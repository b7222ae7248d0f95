#include "launch/program/help/command_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/help/flag.h"
#include "launch/program/help/help.h"
#include "launch/program/options/command_line.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

[[noreturn]] void refuse_unknown(const CommandForm& form, const CommandOptions& options,
                                 const std::string& written) {
  std::vector<std::string> known;
  for (const auto& option : options.options()) known.push_back("--" + option->long_name());
  std::string hint = did_you_mean(written, known);
  if (hint.empty()) hint = fmt::format("; see penstock {} --help", form.name);
  fail_input(fmt::format("{}: unknown option '{}'{}", form.name, written, hint));
}

// Returns the arguments in the form that the library takes. A flag that stands alone gets "=true"
// so that it does not take the next argument for its value. `--data.validation=`, which empties a
// key, becomes two arguments.
std::vector<std::string> with_values(const CommandOptions& options,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  for (const std::string& argument : arguments) {
    result.push_back(argument);
    if (!argument.starts_with("--")) continue;
    const bool is_emptied = argument.ends_with('=');
    const std::string name = argument.substr(2, argument.size() - (is_emptied ? 3 : 2));
    const auto* option = options.find_nothrow(name, false);
    if (is_emptied && option == nullptr) {
      result.back().pop_back();
      result.emplace_back();
    }
    if (!is_emptied && option != nullptr && is_flag(*option)) result.back() += "=true";
  }
  return result;
}

// Refuses options that are neither the command's own nor keys. If a command takes keys, Boost lets
// all options pass.
void refuse_what_is_no_key(const CommandForm& form, const CommandOptions& options,
                           const po::parsed_options& found) {
  std::vector<std::string> own;
  for (const auto& option : options.options()) own.push_back(option->long_name());
  for (const po::option& option : found.options) {
    if (!option.unregistered || option.string_key.empty()) continue;
    std::string name = option.string_key;
    name.erase(0, name.find_first_not_of('-'));
    if (!is_argument(name)) refuse_argument(name, form.name, own);
  }
}

// Refuses a value that is empty, as a script leaves it whose variable is not set: most options take
// no value for not given, and what was asked for would not be done. A text may be empty.
void refuse_empty(const CommandForm& form, const CommandOptions& options,
                  const po::parsed_options& found) {
  for (const po::option& option : found.options) {
    if (option.unregistered || option.string_key.empty()) continue;
    const std::string kind = options.find(option.string_key, false).semantic()->name();
    if (kind == "TEXT" || std::ranges::find(option.value, "") == option.value.end()) continue;
    fail_input(fmt::format("{}: --{} is empty: give its {}, or leave the option out", form.name,
                           option.string_key, kind));
  }
}

po::parsed_options parsed_options(const CommandForm& form, const CommandOptions& options,
                                  const std::vector<std::string>& arguments) {
  namespace style = po::command_line_style;
  po::command_line_parser parser(with_values(options, arguments));
  // Options must be written in full: what a shortened option means could change with every new
  // option.
  parser.options(options).style(style::allow_long | style::long_allow_adjacent |
                                style::long_allow_next);
  if (form.takes_keys) parser.allow_unregistered();
  return parser.run();
}

}  // namespace

CommandOptions own_options(const CommandForm& form) {
  return form.options ? form.options() : CommandOptions();
}

std::string command_help(const CommandForm& form) {
  const CommandOptions options = own_options(form);
  std::string text =
      fmt::format("usage: {}penstock {}{}", form.needs_ranks ? "mpirun -n RANKS " : "", form.name,
                  form.operand.empty() ? "" : " " + form.operand);
  if (!options.options().empty()) text += " [options]";
  if (form.takes_keys) text += " [--section.key value ...]";
  text += "\n\n" + form.about;
  std::vector<HelpRow> rows;
  for (const auto& option : options.options()) {
    const bool alone = is_flag(*option);
    rows.push_back({"--" + option->long_name() + (alone ? "" : " " + option->semantic()->name()),
                    option->description()});
  }
  if (!rows.empty()) text += "\n" + help_rows(rows);
  if (!form.closing.empty()) text += "\n" + form.closing;
  return text;
}

std::vector<std::string> read_options(const CommandForm& form, const CommandOptions& options,
                                      const std::vector<std::string>& arguments) {
  try {
    const po::parsed_options found = parsed_options(form, options, arguments);
    refuse_what_is_no_key(form, options, found);
    refuse_empty(form, options, found);
    po::variables_map values;
    po::store(found, values);
    po::notify(values);
    return po::collect_unrecognized(found.options, po::include_positional);
  } catch (const po::unknown_option& error) {
    refuse_unknown(form, options, error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    if (error.kind() != po::invalid_syntax::missing_parameter) {
      fail_input(fmt::format("{}: {}", form.name, error.what()));
    }
    fail_input(fmt::format("{}: {} needs a value; see penstock {} --help", form.name,
                           error.get_option_name(), form.name));
  } catch (const po::error& error) {
    fail_input(fmt::format("{}: {}; see penstock {} --help", form.name, error.what(), form.name));
  }
}

}  // namespace penstock
