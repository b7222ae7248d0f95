// Filters of any value, and what finds all the others.
#include "runtime/data/templates/functions/filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/data/templates/functions/methods.h"
#include "runtime/data/templates/functions/operators.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

std::string filter_called(const std::string& name) {
  return "the filter " + penstock::quoted(name);
}

// Returns the number that the whole text is, read as Python's int() and float() do, or nothing if
// the text is no number. Blanks around the number are allowed.
template <class Number>
std::optional<Number> number_in(const std::string& text) {
  std::string_view digits = stripped(text, nullptr, true, true);
  const bool plus = digits.starts_with('+');
  if (plus) digits.remove_prefix(1);
  if (plus && digits.starts_with('-')) return std::nullopt;
  Number number{};
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  if (error == std::errc::result_out_of_range) fail_template("reads a number that is too large");
  if (digits.empty() || error != std::errc() || end != last) {
    if (digits.find('_') != std::string_view::npos) fail_template("reads a number with _ in it");
    return std::nullopt;
  }
  return number;
}

std::optional<double> real_in(const Value& value) {
  if (value.text() != nullptr) return number_in<double>(*value.text());
  if (!is_number(value)) return std::nullopt;
  return real_number(value);
}

Value as_whole(const Value& of, const Arguments& with) {
  const auto given = bound(with, {"default", "base"}, filter_called("int"));
  if (given[1] != nullptr && whole_number(*given[1]) != 10) {
    fail_template("reads a number of another base, which is not supported");
  }
  if (of.whole() != nullptr || of.boolean() != nullptr) return whole_number(of);
  if (of.text() != nullptr) {
    if (const auto number = number_in<int64_t>(*of.text())) return *number;
  }
  const std::optional<double> real = real_in(of);
  if (real && std::isfinite(*real)) {
    if (std::abs(*real) >= 9.2e18) fail_template("reads a number that is too large");
    return static_cast<int64_t>(*real);
  }
  return given[0] == nullptr ? Value(int64_t{0}) : *given[0];
}

Value as_real(const Value& of, const Arguments& with) {
  const auto given = bound(with, {"default"}, filter_called("float"));
  if (const std::optional<double> real = real_in(of)) return *real;
  return given[0] == nullptr ? Value(0.0) : *given[0];
}

// Rounds as Python's round() does. The exact value of the double decides, and halves go to the even
// digit.
Value rounded(const Value& of, const Arguments& with) {
  const auto given = bound(with, {"precision", "method"}, filter_called("round"));
  const int64_t digits = given[0] == nullptr ? 0 : whole_number(*given[0]);
  const std::string how =
      given[1] == nullptr ? "common" : text_of(given[1], filter_called("round"));
  if (digits < 0 || digits > 15) fail_template("rounds to such a number of digits");
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double number = real_number(of);
  if (how == "ceil" || how == "floor") {
    return (how == "ceil" ? std::ceil(number * scale) : std::floor(number * scale)) / scale;
  }
  if (how != "common") fail_template("rounds in the way " + penstock::quoted(how));
  if (of.real() == nullptr) return of;
  if (std::abs(number) > 1e15) return number;
  char room[64];
  const auto end = std::to_chars(room, room + sizeof room, number, std::chars_format::fixed,
                                 static_cast<int>(digits))
                       .ptr;
  double result = 0;
  (void)std::from_chars(room, end, result);
  return result;
}

Value length_of(Budget& budget, const Value& of) {
  if (of.undefined()) return int64_t{0};
  if (of.table() != nullptr) return static_cast<int64_t>(of.table()->pairs.size());
  if (of.text() != nullptr) {
    budget.work(of.text()->size());
    return characters_in(*of.text());
  }
  if (of.row() != nullptr && of.row()->type != Row::Type::Once) {
    return static_cast<int64_t>(of.row()->items.size());
  }
  fail_template("asks for the length of " + kind_of(of));
}

Value as_json(Budget& budget, const Value& of, const Arguments& with) {
  const auto given =
      bound(with, {"ensure_ascii", "indent", "separators", "sort_keys"}, filter_called("tojson"));
  JsonForm form;
  form.ascii = given[0] != nullptr && given[0]->truth();
  form.sorted = given[3] != nullptr && given[3]->truth();
  if (given[1] != nullptr && !given[1]->none()) {
    if (given[1]->text() != nullptr) {
      form.indent = *given[1]->text();
    } else {
      form.indent = std::string(
          static_cast<size_t>(std::clamp<int64_t>(whole_number(*given[1]), 0, 1000)), ' ');
    }
  }
  if (given[2] != nullptr && !given[2]->none()) {
    const Row* const both = given[2]->row();
    if (both == nullptr || both->items.size() != 2) fail_template("gives tojson odd separators");
    form.between = text_of(&both->items[0], filter_called("tojson"));
    form.behind_key = text_of(&both->items[1], filter_called("tojson"));
  }
  Writer json(budget);
  write_json(json, of, form);
  return json.value();
}

std::optional<Value> apply_plain_filter(Budget& budget, const std::string& name, const Value& of,
                                        const Arguments& with) {
  if (name == "default" || name == "d") {
    const auto given = bound(with, {"default_value", "boolean"}, filter_called(name));
    const bool false_too = given[1] != nullptr && given[1]->truth();
    if (!of.undefined() && (!false_too || of.truth())) return of;
    return given[0] == nullptr ? text_value(budget, "") : *given[0];
  }
  if (name == "tojson") return as_json(budget, of, with);
  if (name == "int") return as_whole(of, with);
  if (name == "float") return as_real(of, with);
  if (name == "round") return rounded(of, with);
  if (name == "attr") {
    const auto given = bound(with, {"name"}, filter_called(name));
    Value found = member_of(budget, of, text_of(given[0], filter_called(name)));
    // The filter attr finds methods of a mapping, but not its keys.
    if (of.table() != nullptr && found.callable() == nullptr) return Value();
    return found;
  }
  if (name == "length" || name == "count") {
    (void)bound(with, {}, filter_called(name));
    return length_of(budget, of);
  }
  if (name == "abs") {
    (void)bound(with, {}, filter_called(name));
    const bool negative = of.real() != nullptr ? std::signbit(*of.real()) : whole_number(of) < 0;
    return negative ? negated(of) : of;
  }
  return std::nullopt;
}

}  // namespace

Value apply_filter(Budget& budget, const std::string& name, const Value& of,
                   const Arguments& with) {
  budget.work(Budget::kStep);
  for (const auto family : {apply_plain_filter, apply_text_filter, apply_list_filter}) {
    if (std::optional<Value> made = family(budget, name, of, with)) return std::move(*made);
  }
  fail_template("uses " + filter_called(name) + ", which is not supported");
}

}  // namespace penstock::jinja
