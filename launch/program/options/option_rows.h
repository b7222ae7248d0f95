// launch/program/options/option_rows.h -- OptionRows: a helper for option_table.cpp, the only file
// that includes it, which adds the keys of one section to the option table (option_table.h). The
// key model.layers, for example, is added by
//   OptionRows rows(table, "model", &Config::model);
//   rows.add("layers", &ModelConfig::layers, "N", between(1, 1e6), "how many layers");
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "launch/program/options/option_table.h"

namespace penstock {

// Adds the rows of one section. Each row is bound to a member of the section's struct, so that the
// table can read and write it. `Find` takes a Config to that struct: a pointer to a member of
// Config, or a function where the struct lies deeper.
template <typename Find>
class OptionRows {
 public:
  // `table` must outlive this; `name` is the section's name, `section` as `Find` above.
  OptionRows(std::vector<Option>& table, std::string name, Find section)
      : table_(table), name_(std::move(name)), section_(section) {}

  // Adds a row; `symbol` stands for the value in --help. The type of the member narrows `limits`.
  template <typename Section, typename Value>
  Option& add(const char* key, Value Section::*member, const char* symbol, AllowedValues limits,
              const char* help) {
    if constexpr (std::is_integral_v<Value>) {
      using Range = std::numeric_limits<Value>;
      limits.minimum = std::max(limits.minimum, static_cast<double>(Range::min()));
      limits.maximum = std::min(limits.maximum, static_cast<double>(Range::max()));
    }
    const Find section = section_;
    Option option;
    option.section = name_;
    option.key = key;
    option.symbol = symbol;
    option.help = help;
    option.limits = std::move(limits);
    option.get = [=](const Config& config) {
      return widened(std::invoke(section, config).*member);
    };
    option.set = [=](Config& config, const OptionValue& value) {
      std::invoke(section, config).*member = narrowed<Value>(value);
    };
    return table_.emplace_back(std::move(option));
  }

  // Adds a row that also has a short name on the command line.
  template <typename Section, typename Value>
  Option& add(const char* key, const char* shorthand, Value Section::*member, const char* symbol,
              AllowedValues limits, const char* help) {
    Option& option = add(key, member, symbol, std::move(limits), help);
    option.shorthand = shorthand;
    return option;
  }

 private:
  template <typename Value>
  static OptionValue widened(const Value& value) {
    if constexpr (std::is_same_v<Value, bool> || !std::is_integral_v<Value>) {
      return value;
    } else {
      return static_cast<int64_t>(value);
    }
  }
  template <typename Value>
  static Value narrowed(const OptionValue& value) {
    if constexpr (std::is_same_v<Value, bool> || !std::is_integral_v<Value>) {
      return std::get<Value>(value);
    } else {
      return static_cast<Value>(std::get<int64_t>(value));  // the limits made it fit
    }
  }

  std::vector<Option>& table_;
  std::string name_;
  Find section_;
};

}  // namespace penstock
