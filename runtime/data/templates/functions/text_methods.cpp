// What texts can be asked to do.
#include <algorithm>
#include <array>

#include "runtime/data/templates/functions/methods.h"
#include "runtime/data/templates/functions/operators.h"
#include "runtime/data/templates/values/characters.h"
#include "runtime/data/templates/values/formatting.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

// Calls one method of a text.
class TextMethod {
 public:
  TextMethod(Budget& budget, const Value& of, const std::string& name, const Arguments& with)
      : budget_(budget), of_(of), text_(*of.text()), name_(name), with_(with) {
    budget.work(text_.size());
  }

  Value call() {
    if (name_ == "strip" || name_ == "lstrip" || name_ == "rstrip") return strip();
    if (name_ == "startswith" || name_ == "endswith") return ends(name_ == "startswith");
    if (name_ == "upper" || name_ == "lower" || name_ == "capitalize") return cased();
    if (of_.escaped()) unsupported();
    if (name_ == "split" || name_ == "rsplit") return split(name_ == "rsplit");
    if (name_ == "splitlines") return lines();
    if (name_ == "partition" || name_ == "rpartition") return parted(name_ == "rpartition");
    if (name_ == "replace") return replace();
    if (name_ == "join") return join();
    if (name_ == "format") return brace_formatted(budget_, of_, with_);
    if (name_ == "removeprefix" || name_ == "removesuffix") return removed(name_ == "removeprefix");
    if (name_ == "zfill" || name_ == "ljust" || name_ == "rjust" || name_ == "center")
      return padded();
    if (name_ == "title") return titled();
    if (name_ == "isspace") {
      (void)arguments({});
      return !text_.empty() && stripped(text_, nullptr, true, false).empty();
    }
    if (name_ == "isascii") return only_ascii(text_);
    if (name_.starts_with("is")) return only_of_kind();
    if ((name_ == "find" || name_ == "rfind" || name_ == "index" || name_ == "rindex" ||
         name_ == "count"))
      return found();
    unsupported();
  }

 private:
  [[noreturn]] void unsupported() const {
    fail_template("uses the method " + penstock::quoted(name_) + " in a way that is not supported");
  }
  [[nodiscard]] std::string called() const { return "the method " + penstock::quoted(name_); }
  [[nodiscard]] std::vector<const Value*> arguments(
      std::initializer_list<const char*> parameters) const {
    return bound(with_, parameters, called());
  }
  [[nodiscard]] Value text(std::string_view part) const {
    return text_value(budget_, std::string(part), of_.escaped());
  }
  [[nodiscard]] const std::string& only_text() const {
    return text_of(arguments({"1"})[0], called());
  }

  [[nodiscard]] Value strip() const {
    const Value* which = arguments({"chars"})[0];
    if (which != nullptr && which->none()) which = nullptr;
    budget_.work(text_.size() * (which == nullptr ? 8 : text_of(which, called()).size()));
    return text(stripped(text_, which == nullptr ? nullptr : &text_of(which, called()),
                         name_ != "rstrip", name_ != "lstrip"));
  }

  [[nodiscard]] Value ends(bool front) const {
    const Value* const what = arguments({"prefix"})[0];
    const auto fits = [&](const Value& one) {
      const std::string& part = text_of(&one, called());
      return front ? text_.starts_with(part) : text_.ends_with(part);
    };
    if (what != nullptr && what->row() != nullptr && what->row()->type == Row::Type::Tuple) {
      return std::ranges::any_of(what->row()->items, fits);
    }
    (void)text_of(what, called());
    return fits(*what);
  }

  [[nodiscard]] Value cased() const {
    (void)arguments({});
    const Charge room(budget_, 3 * text_.size());  // another case takes up to 3 times the bytes
    return text(in_case(text_, name_ == "upper"   ? Case::Upper
                               : name_ == "lower" ? Case::Lower
                                                  : Case::Capital));
  }

  [[nodiscard]] Value titled() const {
    (void)arguments({});
    if (!only_ascii(text_)) unsupported();
    std::string title = in_case(text_, Case::Lower);
    for (size_t i = 0; i < title.size(); ++i) {
      const bool begins = i == 0 || title[i - 1] < 'A' || title[i - 1] > 'z' ||
                          (title[i - 1] > 'Z' && title[i - 1] < 'a');
      if (begins && title[i] >= 'a' && title[i] <= 'z') title[i] = static_cast<char>(title[i] - 32);
    }
    return text(title);
  }

  [[nodiscard]] Value split(bool from_behind) const {
    const auto with = arguments({"sep", "maxsplit"});
    const int64_t most = with[1] == nullptr ? -1 : whole_number(*with[1]);
    if (with[0] == nullptr || with[0]->none()) return split_at_blanks(most, from_behind);
    const std::string& by = text_of(with[0], called());
    if (by.empty()) fail_template("splits a text at nothing");
    budget_.work(search_work(text_, by));
    Lister parts(budget_);
    if (!from_behind) {
      size_t at = 0;
      for (int64_t n = 0; n != most; ++n) {
        const size_t end = text_.find(by, at);
        if (end == std::string_view::npos) break;
        parts.add(text(text_.substr(at, end - at)));
        at = end + by.size();
      }
      parts.add(text(text_.substr(at)));
      return parts.value();
    }
    std::string_view rest = text_;
    for (int64_t n = 0; n != most; ++n) {
      const size_t begin = rest.rfind(by);
      if (begin == std::string_view::npos) break;
      parts.add(text(rest.substr(begin + by.size())));
      rest = rest.substr(0, begin);
    }
    parts.add(text(rest));
    return turned(parts.value());
  }

  [[nodiscard]] Value turned(const Value& list) const {
    return cut_of(budget_, list, {std::nullopt, std::nullopt, -1});
  }

  [[nodiscard]] Value split_at_blanks(int64_t most, bool from_behind) const {
    if (from_behind && most >= 0) unsupported();
    Lister parts(budget_);
    std::string_view rest = stripped(text_, nullptr, true, false);
    for (int64_t n = 0; n != most && !rest.empty(); ++n) {
      size_t end = 0;
      for (; end < rest.size(); end += utf8_at(rest, end).bytes) {
        if (is_python_space(utf8_at(rest, end).code)) break;
      }
      parts.add(text(rest.substr(0, end)));
      rest = stripped(rest.substr(end), nullptr, true, false);
    }
    if (!rest.empty()) parts.add(text(stripped(rest, nullptr, false, true)));
    return parts.value();
  }

  [[nodiscard]] Value lines() const {
    const Value* const keep = arguments({"keepends"})[0];
    const Charge room(budget_, 48 * text_.size());  // in case each byte is a line of its own
    Lister all(budget_);
    for (const std::string_view line : lines_of(text_, keep != nullptr && keep->truth())) {
      all.add(text(line));
    }
    return all.value();
  }

  [[nodiscard]] Value parted(bool from_behind) const {
    const std::string& by = only_text();
    if (by.empty()) fail_template("parts a text at nothing");
    budget_.work(search_work(text_, by));
    const size_t at = from_behind ? text_.rfind(by) : text_.find(by);
    std::array<std::string_view, 3> parts = {text_, "", ""};
    if (at != std::string_view::npos) {
      parts = {text_.substr(0, at), by, text_.substr(at + by.size())};
    } else if (from_behind) {
      parts = {"", "", text_};
    }
    Lister all(budget_);
    for (const std::string_view part : parts) all.add(text(part));
    return all.value(Row::Type::Tuple);
  }

  [[nodiscard]] Value replace() const {
    const auto with = arguments({"old", "new", "count"});
    return replaced(budget_, text_, text_of(with[0], called()), text_of(with[1], called()),
                    with[2] == nullptr ? -1 : whole_number(*with[2]));
  }

  [[nodiscard]] Value join() const {
    const Value* const what = arguments({"iterable"})[0];
    if (what == nullptr) unsupported();
    const Value row = items_of(budget_, *what);
    Writer all(budget_);
    for (size_t i = 0; i < row.row()->items.size(); ++i) {
      if (i > 0) all.add(text_);
      all.add(text_of(&row.row()->items[i], called()));
    }
    return all.value();
  }

  [[nodiscard]] Value removed(bool front) const {
    const std::string& part = only_text();
    if (front && text_.starts_with(part)) return text(text_.substr(part.size()));
    if (!front && text_.ends_with(part)) return text(text_.substr(0, text_.size() - part.size()));
    return of_;
  }

  [[nodiscard]] Value padded() const {
    const auto with = arguments({"width", "fillchar"});
    if (with[0] == nullptr) unsupported();
    const std::string fill = name_ == "zfill"     ? "0"
                             : with[1] == nullptr ? " "
                                                  : text_of(with[1], called());
    const int64_t width = std::max<int64_t>(0, whole_number(*with[0]));
    const int64_t missing = std::max<int64_t>(0, width - characters_in(text_));
    const bool sign = name_ == "zfill" && (text_.starts_with('-') || text_.starts_with('+'));
    int64_t before = name_ == "ljust" ? 0 : missing;
    // If both the gap and the width are odd, CPython puts the odd fill character in front.
    if (name_ == "center") before = missing / 2 + (missing & width & 1);
    Writer all(budget_);
    if (sign) all.add(text_.substr(0, 1));
    all.add_times(fill, before);
    all.add(text_.substr(sign ? 1 : 0));
    all.add_times(fill, missing - before);
    return all.value();
  }

  [[nodiscard]] Value only_of_kind() const {
    (void)arguments({});
    if (!only_ascii(text_)) unsupported();
    const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto is_number = [](char c) { return c >= '0' && c <= '9'; };
    const auto all = [&](const auto& fits) {
      return !text_.empty() && std::ranges::all_of(text_, fits);
    };
    if (name_ == "isdigit" || name_ == "isdecimal" || name_ == "isnumeric") return all(is_number);
    if (name_ == "isalpha") return all([&](char c) { return is_upper(c) || is_lower(c); });
    if (name_ == "isalnum")
      return all([&](char c) { return is_upper(c) || is_lower(c) || is_number(c); });
    if (name_ == "isupper")
      return std::ranges::any_of(text_, is_upper) && std::ranges::none_of(text_, is_lower);
    if (name_ == "islower")
      return std::ranges::any_of(text_, is_lower) && std::ranges::none_of(text_, is_upper);
    unsupported();
  }

  [[nodiscard]] Value found() const {
    const std::string& what = only_text();
    budget_.work(search_work(text_, what));
    if (name_ == "count") {
      if (what.empty()) return characters_in(text_) + 1;
      int64_t times = 0;
      for (size_t at = text_.find(what); at != std::string_view::npos;
           at = text_.find(what, at + what.size()))
        ++times;
      return times;
    }
    const size_t at = name_.starts_with('r') ? text_.rfind(what) : text_.find(what);
    if (at != std::string_view::npos) return characters_in(text_.substr(0, at));
    if (name_.ends_with("index")) fail_template("asks for the place of a part that a text has not");
    return int64_t{-1};
  }

  Budget& budget_;
  const Value& of_;
  std::string_view text_;
  const std::string& name_;
  const Arguments& with_;
};

}  // namespace

Value call_text_method(Budget& budget, const Value& of, const std::string& name,
                       const Arguments& with) {
  return TextMethod(budget, of, name, with).call();
}

std::string_view stripped(std::string_view text, const std::string* which, bool left, bool right) {
  const auto goes = [&](size_t at, const Utf8Character& c) {
    return which == nullptr ? is_python_space(c.code)
                            : which->find(text.substr(at, c.bytes)) != std::string::npos;
  };
  while (left && !text.empty()) {
    const Utf8Character character = utf8_at(text, 0);
    if (!goes(0, character)) break;
    text.remove_prefix(character.bytes);
  }
  while (right && !text.empty()) {
    size_t at = text.size() - 1;
    while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0U) == 0x80U) --at;
    if (!goes(at, utf8_at(text, at))) break;
    text = text.substr(0, at);
  }
  return text;
}

Value replaced(Budget& budget, std::string_view text, std::string_view from, std::string_view to,
               int64_t most) {
  budget.work(search_work(text, from));
  Writer all(budget);
  size_t at = 0;
  for (int64_t n = 0; n != most; ++n) {
    // An empty `from` is found before each character, and at the end of the text.
    const size_t end = from.empty()
                           ? (n == 0 ? 0 : at + (at < text.size() ? utf8_at(text, at).bytes : 1))
                           : text.find(from, at);
    if (end == std::string_view::npos || end > text.size()) break;
    all.add(text.substr(at, end - at));
    all.add(to);
    at = end + from.size();
  }
  all.add(text.substr(std::min(at, text.size())));
  return all.value();
}

std::vector<std::string_view> lines_of(std::string_view text, bool with_ends) {
  const auto ends = [](char32_t c) {
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
  };
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character c = utf8_at(text, at);
    const size_t end = at;
    at += c.bytes;
    if (!ends(c.code)) continue;
    if (c.code == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(begin, (with_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

}  // namespace penstock::jinja
