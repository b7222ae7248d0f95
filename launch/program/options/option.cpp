// launch/program/options/option.cpp -- what can be asked of a row of the table, and finding rows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "launch/program/options/option_table.h"

namespace penstock {
namespace {

template <typename... Lambdas>
struct Overload : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overload(Lambdas...) -> Overload<Lambdas...>;

bool within(const AllowedValues& limits, double value) {
  // isfinite() refuses NaN, too.
  return std::isfinite(value) && value >= limits.minimum && value <= limits.maximum &&
         !(limits.minimum_excluded && value == limits.minimum) &&
         !(limits.maximum_excluded && value == limits.maximum);
}

bool within(const AllowedValues& limits, const std::string& value) {
  return limits.choices.empty() || (!limits.or_file.empty() && value.ends_with(limits.or_file)) ||
         std::find(limits.choices.begin(), limits.choices.end(), value) != limits.choices.end();
}

// Returns the range as text: " >= 1", " > 0", " <= 8", " from 1 to 10" or " from 0 to below 1". The
// text is empty if there is no bound that a user should know.
std::string range_text(const AllowedValues& limits) {
  // Bounds beyond 1e9 are left out: they are the bounds of the type, or limits that catch typing
  // errors.
  const bool has_minimum = limits.minimum > -1e9;
  const bool has_maximum = limits.maximum < 1e9;
  if (has_minimum && has_maximum) {
    return fmt::format(" {} {} {} {}", limits.minimum_excluded ? "above" : "from", limits.minimum,
                       limits.maximum_excluded ? "to below" : "to", limits.maximum);
  }
  if (has_minimum) {
    return fmt::format(" {} {}", limits.minimum_excluded ? ">" : ">=", limits.minimum);
  }
  return has_maximum ? fmt::format(" <= {}", limits.maximum) : "";
}

}  // namespace

const Option* find_option(std::string_view name) {
  for (const Option& option : option_table()) {
    if (option.name() == name) return &option;
  }
  return nullptr;
}

const Option* find_shorthand(std::string_view shorthand) {
  for (const Option& option : option_table()) {
    if (!shorthand.empty() && option.shorthand == shorthand) return &option;
  }
  return nullptr;
}

bool is_section(std::string_view name) {
  return std::any_of(option_table().begin(), option_table().end(),
                     [&](const Option& option) { return option.section == name; });
}

OptionValue default_of(const Option& option) {
  return option.get(Config{});
}

bool is_flag(const Option& option) {
  return std::holds_alternative<bool>(default_of(option));
}

std::string allowed(const Option& option) {
  const std::string range = range_text(option.limits);
  std::string choices = fmt::format("one of {}", fmt::join(option.limits.choices, ", "));
  if (!option.limits.or_file.empty()) choices += " or a " + option.limits.or_file + " file";
  return std::visit(Overload{
                        [](bool) { return std::string("true or false"); },
                        [&](int64_t) { return "an integer" + range; },
                        [&](double) { return "a number" + range; },
                        [&](const std::string&) {
                          if (option.accepts_number) return std::string("a number or a text");
                          return option.limits.choices.empty() ? std::string("a text") : choices;
                        },
                        [&](const std::vector<int64_t>&) { return "a list of integers" + range; },
                        [&](const std::vector<double>&) { return "a list of numbers" + range; },
                        [](const std::vector<std::string>&) {
                          return std::string("a list of texts, none of them empty");
                        },
                    },
                    default_of(option));
}

bool is_allowed(const Option& option, const OptionValue& value) {
  const AllowedValues& limits = option.limits;
  const auto all = [&](const auto& list) {
    return std::all_of(list.begin(), list.end(),
                       [&](auto element) { return within(limits, static_cast<double>(element)); });
  };
  return std::visit(Overload{
                        [](bool) { return true; },
                        [&](int64_t number) { return within(limits, static_cast<double>(number)); },
                        [&](double number) { return within(limits, number); },
                        [&](const std::string& text) { return within(limits, text); },
                        [&](const std::vector<int64_t>& list) { return all(list); },
                        [&](const std::vector<double>& list) { return all(list); },
                        [](const std::vector<std::string>& list) {
                          return std::ranges::none_of(list, &std::string::empty);
                        },
                    },
                    value);
}

std::string text_of(const OptionValue& value) {
  return std::visit(Overload{
                        [](bool flag) { return std::string(flag ? "true" : "false"); },
                        [](int64_t number) { return fmt::format("{}", number); },
                        [](double number) { return fmt::format("{}", number); },
                        [](const std::string& text) { return text; },
                        [](const auto& list) { return fmt::format("{}", fmt::join(list, ",")); },
                    },
                    value);
}

}  // namespace penstock
