// launch/program/options/option_table.h -- every key of a run file, declared once. The TOML reader,
// the writer, the command line and --help all read this table; a new key is a new row of
// option_table.cpp and a member of its section's struct, nothing else.
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

// The value of any option, in the widest type of its kind.
using OptionValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                                 std::vector<double>, std::vector<std::string>>;

// The values that an option, or each element of a list, may have.
struct AllowedValues {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_excluded = false;
  bool maximum_excluded = false;
  std::vector<std::string> choices = {};  // the texts allowed; empty: any text
  std::string or_file = {};               // ".csv": paths that end in it are allowed beside them
};

struct Option {
  std::string section, key;
  std::string shorthand;  // "stages" for --stages; empty: none
  std::string symbol;     // what stands for the value in --help: "K"
  std::string help;       // one line
  AllowedValues limits;
  bool accepts_number = false;  // its value is a text, and may be written as a bare number
  bool repeats = false;         // a list: given twice on the command line, it holds both values
  std::function<OptionValue(const Config&)> get;
  std::function<void(Config&, const OptionValue&)> set;  // takes the alternative that get() gives

  [[nodiscard]] std::string name() const { return section + "." + key; }
};

// All options, in the order of --help and of a written run file.
[[nodiscard]] const std::vector<Option>& option_table();
// The option with the name "section.key"; null when there is none.
[[nodiscard]] const Option* find_option(std::string_view name);
// The option with that short name; null when there is none.
[[nodiscard]] const Option* find_shorthand(std::string_view shorthand);
[[nodiscard]] bool is_section(std::string_view name);

[[nodiscard]] OptionValue default_of(const Option& option);
// Whether its value is a bool.
[[nodiscard]] bool is_flag(const Option& option);
// "an integer >= 1", "one of gpipe, 1f1b": what messages and --help say is allowed.
[[nodiscard]] std::string allowed(const Option& option);
[[nodiscard]] bool is_allowed(const Option& option, const OptionValue& value);
// The value as it is written on the command line: `0.1`, `3,5`, `true`.
[[nodiscard]] std::string text_of(const OptionValue& value);

}  // namespace penstock
