// Filters that make texts. What is no text is written as one first, as Jinja does it.
#include <algorithm>
#include <array>

#include "runtime/data/templates/functions/filters.h"
#include "runtime/data/templates/functions/methods.h"
#include "runtime/data/templates/functions/operators.h"
#include "runtime/data/templates/values/characters.h"
#include "runtime/data/templates/values/formatting.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

class TextFilter {
 public:
  TextFilter(Budget& budget, std::string name, const Value& of, const Arguments& with)
      : budget_(budget), name_(std::move(name)), given_(of), with_(with) {}

  Value call() {
    of_ = str_of(budget_, given_);
    budget_.work(of_.text()->size());
    if (name_ == "string") return of_;
    if (name_ == "upper" || name_ == "lower" || name_ == "capitalize") {
      (void)arguments({});
      return call_method(budget_, of_, name_, {});
    }
    if (name_ == "trim") {
      Arguments chars;
      if (const Value* which = arguments({"chars"})[0]) chars.values.push_back(*which);
      return call_method(budget_, of_, "strip", chars);
    }
    if (name_ == "title") return titled();
    if (name_ == "replace") return replace();
    if (name_ == "escape") return escaped();
    if (name_ == "forceescape") return escaped_text(*of_.text());
    if (name_ == "safe") return text_value(budget_, *of_.text(), true);
    if (name_ == "indent") return indented();
    if (name_ == "truncate") return truncated();
    if (name_ == "wordcount") return words();
    if (name_ == "center") {
      const Value* const width = arguments({"width"})[0];
      Arguments to;
      to.values.push_back(width == nullptr ? Value(int64_t{80}) : *width);
      return call_method(budget_, of_, "center", to);
    }
    return filled_in();
  }

 private:
  [[nodiscard]] std::string called() const { return "the filter " + penstock::quoted(name_); }
  [[nodiscard]] std::vector<const Value*> arguments(
      std::initializer_list<const char*> parameters) const {
    return bound(with_, parameters, called());
  }
  [[nodiscard]] std::string_view text() const { return *of_.text(); }
  [[nodiscard]] Value made(std::string_view part) const {
    return text_value(budget_, std::string(part), of_.escaped());
  }

  [[nodiscard]] Value escaped_text(std::string_view plain) const {
    Writer written(budget_);
    write_escaped(written, plain);
    return written.value(true);
  }
  [[nodiscard]] Value escaped() const { return of_.escaped() ? of_ : escaped_text(text()); }

  // Returns the text with a capital at the start of each word, and all other letters small. A word
  // begins at the start of the text, and behind white space or one of - ( { [ <.
  [[nodiscard]] Value titled() const {
    if (!only_ascii(text())) fail_template("makes a title of letters beyond ASCII");
    std::string title = in_case(text(), Case::Lower);
    constexpr std::string_view kParting = "-({[<";
    const auto parts = [&](char c) {
      return is_python_space(static_cast<uint8_t>(c)) || kParting.find(c) != std::string_view::npos;
    };
    for (size_t i = 0; i < title.size(); ++i) {
      const bool begins = i == 0 || parts(title[i - 1]);
      if (begins && title[i] >= 'a' && title[i] <= 'z') title[i] = static_cast<char>(title[i] - 32);
    }
    return made(title);
  }

  [[nodiscard]] Value replace() const {
    const auto given = arguments({"old", "new", "count"});
    if (given[0] == nullptr || given[1] == nullptr)
      fail_template("gives " + called() + " too little");
    const Value from = str_of(budget_, *given[0]);
    const Value to = str_of(budget_, *given[1]);
    const bool counted = given[2] != nullptr && !given[2]->none();
    return replaced(budget_, text(), *from.text(), *to.text(),
                    counted ? whole_number(*given[2]) : -1);
  }

  [[nodiscard]] Value indented() const {
    const auto given = arguments({"width", "first", "blank"});
    Value indention = given[0] == nullptr ? Value(int64_t{4}) : *given[0];
    if (indention.text() == nullptr) {
      Writer blanks(budget_);
      blanks.add_times(" ", whole_number(indention));
      indention = blanks.value();
    }
    const bool blank_too = given[2] != nullptr && given[2]->truth();
    const Charge room(budget_, 48 * text().size());  // in case each byte is a line of its own
    // Jinja appends a newline before it cuts a text into lines. So a text that is empty or ends
    // with a newline has an empty last line.
    std::vector<std::string_view> lines = lines_of(text());
    if (text().empty() || lines_of(text().substr(text().size() - 1)).front().empty())
      lines.push_back("");
    Writer all(budget_);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i > 0) all.add('\n');
      const bool goes_in =
          i == 0 ? given[1] != nullptr && given[1]->truth() : blank_too || !lines[i].empty();
      if (goes_in) all.add(*indention.text());
      all.add(lines[i]);
    }
    return all.value(of_.escaped());
  }

  [[nodiscard]] Value truncated() const {
    const auto given = arguments({"length", "killwords", "end", "leeway"});
    const int64_t length = given[0] == nullptr ? 255 : whole_number(*given[0]);
    const std::string end = given[2] == nullptr ? "..." : text_of(given[2], called());
    const int64_t leeway = given[3] == nullptr || given[3]->none() ? 5 : whole_number(*given[3]);
    if (leeway < 0 || length < characters_in(end)) {
      fail_template("truncates to less than what tells of it");
    }
    if (characters_in(text()) - length <= leeway) return of_;
    const int64_t kept = length - characters_in(end);
    const Value first = cut_of(budget_, of_, {std::nullopt, kept, std::nullopt});
    const std::string& head = *first.text();
    const bool whole_words = given[1] == nullptr || !given[1]->truth();
    const size_t blank = head.rfind(' ');
    Writer all(budget_);
    all.add(whole_words && blank != std::string::npos ? std::string_view(head).substr(0, blank)
                                                      : head);
    all.add(end);
    return all.value(of_.escaped());
  }

  [[nodiscard]] Value words() const {
    if (!only_ascii(text())) fail_template("counts words with letters beyond ASCII");
    budget_.work(2 * text().size());
    int64_t count = 0;
    bool inside = false;
    for (const char c : text()) {
      const bool letter =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (letter && !inside) ++count;
      inside = letter;
    }
    return count;
  }

  // Fills values into the text in place of its %, as Python does, for example '%s' | format('a').
  [[nodiscard]] Value filled_in() const {
    if (with_.named.empty()) {
      return percent_formatted(budget_, of_, list_value(budget_, with_.values, Row::Type::Tuple));
    }
    if (!with_.values.empty())
      fail_template("gives " + called() + " values with names and without");
    Entries pairs;
    for (const auto& [name, value] : with_.named)
      pairs.emplace_back(text_value(budget_, name), value);
    return percent_formatted(budget_, of_, table_value(budget_, std::move(pairs)));
  }

  Budget& budget_;
  const std::string name_;
  const Value& given_;
  const Arguments& with_;
  Value of_;
};

}  // namespace

std::optional<Value> apply_text_filter(Budget& budget, const std::string& name, const Value& of,
                                       const Arguments& with) {
  constexpr std::array<std::string_view, 15> kNames = {
      "string",      "upper", "lower",  "capitalize", "trim",      "title",  "replace", "escape",
      "forceescape", "safe",  "indent", "truncate",   "wordcount", "center", "format"};
  if (name == "e") return TextFilter(budget, "escape", of, with).call();
  if (std::ranges::find(kNames, name) == kNames.end()) return std::nullopt;
  return TextFilter(budget, name, of, with).call();
}

}  // namespace penstock::jinja
