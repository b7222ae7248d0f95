// launch/program/options/option_table.h -- the table of all keys of a run file. The TOML reader,
// the writer, the command line and --help all read this one table, so a new key needs only a row in
// option_table.cpp and a member in its section's struct; if not every run reads it, its name stands
// in readers.cpp, too.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/planning/blueprint/config.h"

namespace penstock {

// The value of any option, in the widest type of its kind (every integer is an int64_t).
using OptionValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                                 std::vector<double>, std::vector<std::string>>;

// The values that an option may have; for a list, that each of its elements may have.
struct AllowedValues {
  // A number is at least this, and at most `maximum`.
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_excluded = false;          // the minimum itself is not allowed
  bool maximum_excluded = false;          // the maximum itself is not allowed
  std::vector<std::string> choices = {};  // the texts allowed; empty: any text
  std::string or_file = {};  // ".csv": a path with this ending is allowed besides the choices
};

// One key of the run file.
struct Option {
  std::string section, key;  // "pipeline", "stages"
  std::string shorthand;     // a short name on the command line, "stages" for --stages; empty: none
  std::string symbol;        // what stands for the value in --help, "K"
  std::string help;          // one line for --help
  AllowedValues limits;
  bool accepts_number = false;  // its value is a text that may be written as a bare number
  bool repeats = false;  // a list: when it is given twice on the command line, both values are kept
  std::function<OptionValue(const Config&)> get;  // reads it from a configuration
  // Sets it in a configuration; the value must have the type that get() returns.
  std::function<void(Config&, const OptionValue&)> set;

  [[nodiscard]] std::string name() const { return section + "." + key; }
};

// All options, in the order of --help and of a written run file.
[[nodiscard]] const std::vector<Option>& option_table();
// The option named "section.key"; null when there is none.
[[nodiscard]] const Option* find_option(std::string_view name);
// The option with that short name; null when there is none.
[[nodiscard]] const Option* find_shorthand(std::string_view shorthand);
// Whether a section of the run file has this name.
[[nodiscard]] bool is_section(std::string_view name);

// The value that the option has where nothing sets it.
[[nodiscard]] OptionValue default_of(const Option& option);
// Whether its value is a bool.
[[nodiscard]] bool is_flag(const Option& option);
// What messages and --help say is allowed: "an integer >= 1", "one of gpipe, 1f1b".
[[nodiscard]] std::string allowed(const Option& option);
// Whether the option may have this value.
[[nodiscard]] bool is_allowed(const Option& option, const OptionValue& value);
// The value as it is written on the command line: `0.1`, `3,5`, `true`.
[[nodiscard]] std::string text_of(const OptionValue& value);

}  // namespace penstock
