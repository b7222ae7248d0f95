#include "runtime/data/templates/functions/operators.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kernels/parse_number.h"
#include "runtime/data/templates/functions/methods.h"
#include "runtime/data/templates/values/formatting.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

[[noreturn]] void too_large() {
  fail_template("calculates with a number that is too large");
}

bool contains(Budget& budget, const Value& in, const Value& what) {
  if (in.row() != nullptr) {
    const Value row = items_of(budget, in);
    return std::ranges::any_of(row.row()->items,
                               [&](const Value& one) { return equal(budget, one, what); });
  }
  if (in.text() != nullptr && what.text() != nullptr) {
    budget.work(search_work(*in.text(), *what.text()));
    return in.text()->find(*what.text()) != std::string::npos;
  }
  if (in.table() != nullptr) return found_in(budget, *in.table(), what) != nullptr;
  if (in.undefined()) return false;
  fail_template("looks for " + kind_of(what) + " in " + kind_of(in));
}

// Returns two texts joined. If one of the texts is marked as escaped, the other is escaped first.
Value joined_texts(Budget& budget, const Value& left, const Value& right) {
  Writer both(budget);
  const bool escapes = left.escaped() || right.escaped();
  for (const Value* one : {&left, &right}) {
    if (escapes && !one->escaped()) {
      write_escaped(both, *one->text());
    } else {
      both.add(*one->text());
    }
  }
  return both.value(escapes);
}

Value repeated(Budget& budget, const Value& what, int64_t times) {
  if (what.text() != nullptr) {
    Writer all(budget);
    all.add_times(*what.text(), times);
    return all.value(what.escaped());
  }
  Lister all(budget);
  for (int64_t i = 0; i < times && !what.row()->items.empty(); ++i) {
    for (const Value& one : what.row()->items) all.add(one);
  }
  return all.value(what.row()->type);
}

bool is_row(const Value& value) {
  return value.row() != nullptr && value.row()->type <= Row::Type::Tuple;
}

int64_t whole_power(int64_t base, int64_t exponent) {
  int64_t power = 1;
  for (; exponent > 0 && power != 0 && (power != 1 || base != 1); --exponent) {
    if (base == -1) return exponent % 2 == 0 ? power : -power;
    if (__builtin_mul_overflow(power, base, &power)) too_large();
  }
  return power;
}

int64_t combined_whole(const std::string& how, int64_t a, int64_t b) {
  int64_t result = 0;
  bool over = false;
  if (how == "+") over = __builtin_add_overflow(a, b, &result);
  if (how == "-") over = __builtin_sub_overflow(a, b, &result);
  if (how == "*") over = __builtin_mul_overflow(a, b, &result);
  if (how == "**") result = whole_power(a, b);
  if (how == "//" || how == "%") {
    if (b == 0) fail_template("divides by zero");
    if (b == -1) {
      over = how == "//" && __builtin_sub_overflow(0, a, &result);
    } else {
      // The quotient is rounded down, as in Python; C++ rounds towards zero.
      const bool rounds = a % b != 0 && (a < 0) != (b < 0);
      result = how == "%" ? a % b + (rounds ? b : 0) : a / b - (rounds ? 1 : 0);
    }
  }
  if (over) too_large();
  return result;
}

double combined_real(const std::string& how, double a, double b) {
  if (how == "+") return a + b;
  if (how == "-") return a - b;
  if (how == "*") return a * b;
  if (how == "**") return std::pow(a, b);
  if (b == 0) fail_template("divides by zero");
  if (how == "/") return a / b;
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (how == "%") return remainder;
  return std::floor((a - remainder) / b + 0.5);
}

std::string cut_text(std::string_view text, int64_t begin, int64_t end, int64_t step) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size(); at += utf8_at(text, at).bytes) starts.push_back(at);
  starts.push_back(text.size());
  std::string kept;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    const auto at = static_cast<size_t>(i);
    kept += text.substr(starts[at], starts[at + 1] - starts[at]);
  }
  return kept;
}

Value character_of(Budget& budget, const Value& of, int64_t at) {
  const std::string& text = *of.text();
  budget.work(text.size());
  const int64_t size = characters_in(text);
  if (at < 0) at += size;
  if (at < 0 || at >= size) return {};
  size_t byte = 0;
  for (; at > 0; --at) byte += utf8_at(text, byte).bytes;
  return text_value(budget, text.substr(byte, utf8_at(text, byte).bytes), of.escaped());
}

// Returns the member `name` of a group that groupby made, or the method `name` of the value. The
// result is undefined if the value has neither.
Value method_or_nothing(const Value& of, const std::string& name) {
  if (of.row() != nullptr && of.row()->type == Row::Type::Group) {
    if (name == "grouper" || name == "list") return of.row()->items[name == "list" ? 1 : 0];
  }
  if (name.starts_with("__")) fail_template("asks for " + penstock::quoted(name));
  if (!has_method(of, name)) return {};
  return std::make_shared<const Callable>(Callable{name, of});
}

[[noreturn]] void no_member(const Value& of, const std::string& name) {
  fail_template("asks for " + penstock::quoted(name) + " of what is not defined (" + kind_of(of) +
                ")");
}

}  // namespace

Value whole_literal(const std::string& digits) {
  const int base = digits.size() < 2 || digits[0] != '0' ? 10
                   : digits[1] == 'x'                    ? 16
                   : digits[1] == 'o'                    ? 8
                   : digits[1] == 'b'                    ? 2
                                                         : 10;
  int64_t number = 0;
  const char* const first = digits.data() + (base == 10 ? 0 : 2);
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(first, last, number, base);
  if (error != std::errc() || end != last) too_large();
  return number;
}

Value real_literal(const std::string& digits) {
  const std::optional<double> number = parse_number<double>(digits);
  if (!number) too_large();
  return *number;
}

Value negated(const Value& of) {
  if (of.real() != nullptr) return -*of.real();
  return combined_whole("-", 0, whole_number(of));
}

Value member_of(Budget& budget, const Value& of, const std::string& name) {
  if (of.undefined()) no_member(of, name);
  if (of.space() != nullptr) {
    const auto& members = of.space()->members;
    const auto found = std::ranges::find(members, name, &std::pair<std::string, Value>::first);
    budget.work(members.size());
    return found == members.end() ? Value() : found->second;
  }
  Value method = method_or_nothing(of, name);
  if (!method.undefined()) return method;
  if (of.table() == nullptr) return {};
  const Value* const found = found_in(budget, *of.table(), name);
  return found == nullptr ? Value() : *found;
}

Value item_of(Budget& budget, const Value& of, const Value& key) {
  if (of.undefined()) no_member(of, key.text() == nullptr ? kind_of(key) : *key.text());
  if (of.table() != nullptr) {
    if (const Value* found = found_in(budget, *of.table(), key)) return *found;
  }
  if (key.text() != nullptr) {
    return of.space() != nullptr ? member_of(budget, of, *key.text())
                                 : method_or_nothing(of, *key.text());
  }
  const bool counted = key.whole() != nullptr || key.boolean() != nullptr;
  if (counted && of.text() != nullptr) return character_of(budget, of, whole_number(key));
  if (counted && of.row() != nullptr && of.row()->indexed()) {
    const auto size = static_cast<int64_t>(of.row()->items.size());
    const int64_t index = whole_number(key);
    const int64_t at = index < 0 ? index + size : index;
    return at >= 0 && at < size ? of.row()->items[static_cast<size_t>(at)] : Value();
  }
  return {};
}

Value attribute_of(Budget& budget, const Value& of, const Value& path) {
  if (path.text() == nullptr) return item_of(budget, of, path);
  const std::string& text = *path.text();
  Value found = of;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('.', at), text.size());
    const std::string part = text.substr(at, end - at);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    found = item_of(budget, found, number ? whole_literal(part) : text_value(budget, part));
    at = end + 1;
  }
  return found;
}

Value cut_of(Budget& budget, const Value& of, const Cut& cut) {
  if (of.undefined()) no_member(of, "a part");
  const bool text = of.text() != nullptr;
  if (!text && (of.row() == nullptr || !of.row()->indexed())) {
    fail_template("cuts " + kind_of(of) + ", which is not supported");
  }
  const int64_t step = cut.step.value_or(1);
  if (step == 0) fail_template("cuts in steps of 0");
  if (text) budget.work(of.text()->size());
  // The memory of cut_text() is charged here: cut_text() keeps eight bytes for each byte of the
  // text, to know where characters start.
  const Charge starts(budget, text ? 8 * of.text()->size() : 0);
  const int64_t size = text ? characters_in(*of.text()) : std::ssize(of.row()->items);
  const int64_t lowest = step > 0 ? 0 : -1;
  const int64_t highest = step > 0 ? size : size - 1;
  const auto clamped = [&](int64_t i) {
    return i < 0 ? std::max(i + size, lowest) : std::min(i, highest);
  };
  const int64_t begin = cut.from ? clamped(*cut.from) : (step > 0 ? 0 : size - 1);
  const int64_t end = cut.to ? clamped(*cut.to) : (step > 0 ? size : -1);
  // A longer stride would also end after one item, but `i` could overflow.
  const int64_t stride = std::clamp(step, -size - 1, size + 1);
  if (text) return text_value(budget, cut_text(*of.text(), begin, end, stride), of.escaped());
  Lister kept(budget);
  for (int64_t i = begin; stride > 0 ? i < end : i > end; i += stride) {
    kept.add(of.row()->items[static_cast<size_t>(i)]);
  }
  return kept.value(of.row()->type);
}

bool compared(Budget& budget, const std::string& how, const Value& left, const Value& right) {
  if (how == "==") return equal(budget, left, right);
  if (how == "!=") return !equal(budget, left, right);
  if (how == "in") return contains(budget, right, left);
  if (how == "not in") return !contains(budget, right, left);
  if (how == "<") return less(budget, left, right);
  if (how == ">") return less(budget, right, left);
  if (how == "<=") return less(budget, left, right) || equal(budget, left, right);
  return less(budget, right, left) || equal(budget, left, right);
}

Value combined(Budget& budget, const std::string& how, const Value& left, const Value& right) {
  if (is_number(left) && is_number(right)) {
    const bool real = left.real() != nullptr || right.real() != nullptr || how == "/" ||
                      (how == "**" && whole_number(right) < 0);
    if (!real) return combined_whole(how, whole_number(left), whole_number(right));
    return combined_real(how, real_number(left), real_number(right));
  }
  if (how == "%" && left.text() != nullptr) return percent_formatted(budget, left, right);
  if (how == "+" && left.text() != nullptr && right.text() != nullptr) {
    return joined_texts(budget, left, right);
  }
  if (how == "+" && is_row(left) && is_row(right) && left.row()->type == right.row()->type) {
    Lister both(budget);
    for (const Value& one : left.row()->items) both.add(one);
    for (const Value& one : right.row()->items) both.add(one);
    return both.value(left.row()->type);
  }
  if (how == "*" && (left.text() != nullptr || is_row(left)) && is_number(right)) {
    return repeated(budget, left, whole_number(right));
  }
  if (how == "*" && (right.text() != nullptr || is_row(right)) && is_number(left)) {
    return repeated(budget, right, whole_number(left));
  }
  fail_template("combines " + kind_of(left) + " and " + kind_of(right) + " by " + how);
}

}  // namespace penstock::jinja
