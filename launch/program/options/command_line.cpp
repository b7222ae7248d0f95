// launch/program/options/command_line.cpp -- Boost.Program_options splits the arguments; the option
// table says what they mean.
#include "launch/program/options/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>
#include <map>
#include <optional>

#include "kernels/error.h"
#include "kernels/parse_number.h"
#include "kernels/suggest.h"
#include "launch/program/options/comma_list.h"
#include "launch/program/options/readers.h"
#include "launch/program/options/run_file.h"
#include "launch/program/options/shortened.h"
#include "launch/program/output.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/run_directory/contents.h"
#include "runtime/records/run_directory/names.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

const Option* find_argument(std::string_view name) {
  const Option* option = find_option(name);
  return option != nullptr ? option : find_shorthand(name);
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<Number>(text);
}

template <typename Number>
std::optional<OptionValue> list_in(const std::string& text) {
  std::vector<Number> list;
  for (const std::string& part : split_at_commas(text)) {
    const std::optional<Number> number = number_in<Number>(part);
    if (!number) return std::nullopt;
    list.push_back(*number);
  }
  return list;
}

template <typename Value>
std::optional<OptionValue> option_value_if(const std::optional<Value>& value) {
  return value ? std::optional<OptionValue>(*value) : std::nullopt;
}

// Returns the text as a value of the option's type, or nothing if it is no such value. Lists can
// also be written as [3, 5].
std::optional<OptionValue> read_value(std::string text, const Option& option) {
  const OptionValue type = default_of(option);
  if (std::holds_alternative<std::string>(type)) return text;
  if (std::holds_alternative<bool>(type)) {
    if (text == "true" || text == "false") return text == "true";
    return std::nullopt;
  }
  if (std::holds_alternative<int64_t>(type)) return option_value_if(number_in<int64_t>(text));
  if (std::holds_alternative<double>(type)) return option_value_if(number_in<double>(text));
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  if (std::holds_alternative<std::vector<int64_t>>(type)) return list_in<int64_t>(text);
  if (std::holds_alternative<std::vector<double>>(type)) return list_in<double>(text);
  return split_at_commas(text);
}

// Returns the arguments in the form that the library takes. A flag alone, such as `--data.flip`,
// means true and gets that value, so that it does not take the next argument for its value.
// `--data.validation=`, which empties a key, becomes two arguments.
std::vector<std::string> with_flag_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.starts_with("--") && argument.ends_with("=")) {
      result.push_back(argument.substr(0, argument.size() - 1));
      result.emplace_back();
      continue;
    }
    const Option* option = argument.starts_with("--") ? find_argument(argument.substr(2)) : nullptr;
    if (option == nullptr || !is_flag(*option)) {
      result.push_back(argument);
      continue;
    }
    const bool has_value =
        i + 1 < arguments.size() && (arguments[i + 1] == "true" || arguments[i + 1] == "false");
    result.push_back(argument + "=" + (has_value ? arguments[++i] : "true"));
  }
  return result;
}

po::options_description known_arguments() {
  po::options_description known;
  for (const Option& option : option_table()) {
    known.add_options()(option.name().c_str(), po::value<std::string>());
    if (!option.shorthand.empty()) {
      known.add_options()(option.shorthand.c_str(), po::value<std::string>());
    }
  }
  return known;
}

std::vector<po::option> parse(const std::vector<std::string>& arguments) {
  const po::options_description known = known_arguments();
  // Only long options are taken, and only in full: what a shortened option means could change with
  // every new key.
  namespace style = po::command_line_style;
  try {
    return po::command_line_parser(with_flag_values(arguments))
        .options(known)
        .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
        .run()
        .options;
  } catch (const po::unknown_option& error) {
    std::string name = error.get_option_name();
    name.erase(0, name.find_first_not_of('-'));
    refuse_argument(name);
  } catch (const po::error& error) {
    fail_input(fmt::format("command line: {}", error.what()));
  }
}

// Returns the value to set. If the option may be given several times, the values that the command
// line gave before come first.
OptionValue with_earlier(const Settings& settings, const Option& option, const OptionValue& value) {
  if (!option.repeats || !settings.on_command_line(option.name())) return value;
  auto all = std::get<std::vector<std::string>>(option.get(settings.config));
  const auto& more = std::get<std::vector<std::string>>(value);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void assign_argument(Settings& settings, const po::option& argument) {
  const Option* option = find_argument(argument.string_key);
  if (option == nullptr) refuse_argument(argument.string_key);
  const std::string origin = "--" + argument.string_key;
  const std::string written = argument.value.empty() ? "" : argument.value.front();
  const std::optional<OptionValue> value = read_value(written, *option);
  if (!value) refuse_value(*option, "'" + written + "'", origin);
  assign(settings, *option, with_earlier(settings, *option, *value), origin);
}

// Tells of each option that has two values on the command line, the last of which is taken, as
// scripts rely on that add theirs to a user's.
void tell_of_repeats(const std::vector<po::option>& parsed) {
  std::map<std::string, std::string> values;  // by key, the last so far
  std::map<std::string, std::string> differ;  // by key, as it was written last
  for (const po::option& argument : parsed) {
    const Option* option = find_argument(argument.string_key);
    if (option == nullptr || option->repeats) continue;
    const std::string value = argument.value.empty() ? "" : argument.value.front();
    const auto [before, is_new] = values.emplace(option->name(), value);
    if (!is_new && before->second != value) differ[option->name()] = argument.string_key;
    before->second = value;
  }
  for (const auto& [key, written] : differ) {
    tell(fmt::format("note: --{} is given more than once: the last, '{}', is taken", written,
                     shortened(values.at(key))));
  }
}

// Returns the place of "--", or the end if there is none. Arguments behind "--" are no options,
// whatever they look like.
std::vector<std::string>::const_iterator end_of_options(const std::vector<std::string>& arguments) {
  return std::find(arguments.begin(), arguments.end(), "--");
}

// Returns the run file that `path` stands for: a run directory stands for the run file in it. A
// published model and a checkpoint have no run file. Since both are often given in place of a run,
// the error says how to use them.
std::string run_file_at(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  const fs::path file = fs::path(path) / kRunFile;
  if (const std::string run = run_directory_of(path);
      !run.empty() && fs::exists(fs::path(path) / kManifestFile, ignored)) {
    fail_input(fmt::format(
        "{0} is a checkpoint: give the directory of its run, {1}; train goes on from it with "
        "--resume {0}, eval, generate and others use it with --checkpoint {0}",
        path, run));
  }
  if (!fs::exists(file, ignored) && fs::exists(fs::path(path) / kConfigFile, ignored)) {
    fail_input(fmt::format(
        "{0} is no run directory: it has no {1}, but the {2} of a published model, which "
        "--model.from {0} takes",
        path, kRunFile, kConfigFile));
  }
  return file.string();
}

// Refuses a word behind a flag that is neither true, false nor the path of anything: it was meant
// for the flag, and would pass for a run file.
void check_flags(const std::vector<std::string>& arguments) {
  std::error_code ignored;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i - 1];
    const std::string& word = arguments[i];
    const Option* option = flag.starts_with("--") ? find_argument(flag.substr(2)) : nullptr;
    if (option == nullptr || !is_flag(*option) || word == "true" || word == "false") continue;
    if (word.starts_with("--") || std::filesystem::exists(word, ignored)) continue;
    fail_input(fmt::format("{}: '{}' must be true or false, and '{}' is neither, nor a run file",
                           flag, option->name(), shortened(word)));
  }
}

}  // namespace

bool is_argument(std::string_view name) {
  return find_argument(name) != nullptr;
}

void refuse_argument(const std::string& written, const std::string& command,
                     const std::vector<std::string>& own) {
  std::vector<std::string> known = {"--help", "--version"};
  for (const std::string& name : own) known.push_back("--" + name);
  for (const Option& option : option_table()) {
    if (!option.shorthand.empty()) known.push_back("--" + option.shorthand);
    known.push_back("--" + option.name());
    if (option.key == written) {
      fail_input(fmt::format("unknown option '--{}'; write '--{}'", written, option.name()));
    }
  }
  std::string hint = did_you_mean("--" + written, known);
  if (hint.empty()) {
    hint = command == "train"
               ? "; `penstock train --help` lists all options"
               : fmt::format(
                     "; `penstock {} --help` lists those of the command, `penstock train "
                     "--help` those of the run file",
                     command);
  }
  fail_input(fmt::format("unknown option '--{}'{}", written, hint));
}

CommandLine split_command(int argc, const char* const* argv) {
  CommandLine line;
  if (argc > 1) line.command = argv[1];
  for (int i = 2; i < argc; ++i) {
    line.arguments.emplace_back(argv[i]);
  }
  return line;
}

bool wants_help(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), end_of_options(arguments), [](const std::string& argument) {
    return argument == "--help" || argument == "-h";
  });
}

bool wants_version(const std::vector<std::string>& arguments) {
  const auto end = end_of_options(arguments);
  return std::find(arguments.begin(), end, "--version") != end;
}

Settings read_settings(const std::vector<std::string>& arguments, bool required, DataRead read) {
  check_flags(arguments);
  const std::vector<po::option> parsed = parse(arguments);
  std::vector<std::string> run_files;
  for (const po::option& argument : parsed) {
    if (argument.string_key.empty()) {
      run_files.insert(run_files.end(), argument.value.begin(), argument.value.end());
    }
  }
  if (std::ranges::count(run_files, "") > 0) {
    fail_input(
        "the run file is named by an empty text, as a script leaves it whose variable is not "
        "set: name it");
  }
  if (run_files.size() > 1) {
    fail_input(
        fmt::format("one run file at a time, not '{}' and '{}'", run_files[0], run_files[1]));
  }
  const bool has_network =
      std::any_of(parsed.begin(), parsed.end(),
                  [](const po::option& argument) { return argument.string_key == "model.from"; });
  if (run_files.empty() && required && !has_network) {
    fail_input("no run file given: penstock COMMAND RUNFILE.toml [--section.key value ...]");
  }
  tell_of_repeats(parsed);
  Settings settings;
  if (!run_files.empty()) read_run_file(run_file_at(run_files.front()), settings);
  for (const po::option& argument : parsed) {
    if (!argument.string_key.empty()) assign_argument(settings, argument);
  }
  complete(settings, read);
  check_read(settings);
  return settings;
}

}  // namespace penstock
