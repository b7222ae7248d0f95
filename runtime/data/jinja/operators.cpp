#include "runtime/data/jinja/operators.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "kernels/error.h"

namespace penstock::jinja {
namespace {

constexpr int64_t kMostNumber = int64_t{1} << 30;
constexpr size_t kMostTogether = size_t{64} << 20;

bool contains(const Value& in, const Value& what) {
  if (in.list() != nullptr) {
    return std::ranges::any_of(*in.list(), [&](const Value& one) { return one.equals(what); });
  }
  if (in.text() != nullptr && what.text() != nullptr) {
    return in.text()->find(*what.text()) != std::string::npos;
  }
  if (in.map() != nullptr && what.text() != nullptr) {
    return !member_of(*in.map(), *what.text()).undefined();
  }
  if (in.undefined()) return false;
  fail_template("looks for something in what holds nothing");
}

}  // namespace

void fail_template(const std::string& what) {
  fail_input("the chat template " + what);
}

int64_t whole_number(const Value& value) {
  if (const int64_t* number = value.number()) return *number;
  if (const bool* truth = value.boolean()) return *truth ? 1 : 0;
  fail_template("calculates with what is no whole number");
}

Value whole_literal(const std::string& digits) {
  int64_t number = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  if (error != std::errc() || end != last || number > kMostNumber) {
    fail_template("has a number that is too large");
  }
  return number;
}

Value member_or_item(const Value& of, const Value& key) {
  if (of.undefined() || of.none()) fail_template("asks for a member of what is not there");
  if (of.map() != nullptr && key.text() != nullptr) return member_of(*of.map(), *key.text());
  if (of.list() != nullptr && key.number() != nullptr) {
    const auto size = static_cast<int64_t>(of.list()->size());
    const int64_t at = *key.number() < 0 ? *key.number() + size : *key.number();
    return at >= 0 && at < size ? (*of.list())[static_cast<size_t>(at)] : Value();
  }
  if (of.text() != nullptr && key.number() != nullptr) {
    fail_template("asks for a character of a text, which is not supported");
  }
  return {};
}

Value cut_list(const Value& of, std::optional<int64_t> from, std::optional<int64_t> to,
               int64_t step) {
  if (of.list() == nullptr) fail_template("cuts what is no list, which is not supported");
  if (step == 0 || std::abs(step) > kMostNumber) fail_template("cuts a list in such steps");
  const auto size = static_cast<int64_t>(of.list()->size());
  const int64_t lowest = step > 0 ? 0 : -1;
  const int64_t highest = step > 0 ? size : size - 1;
  const auto clamped = [&](int64_t i) { return std::clamp(i < 0 ? i + size : i, lowest, highest); };
  const int64_t begin = from ? clamped(*from) : (step > 0 ? 0 : size - 1);
  const int64_t end = to ? clamped(*to) : (step > 0 ? size : -1);
  List kept;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    kept.push_back((*of.list())[static_cast<size_t>(i)]);
  }
  return kept;
}

bool compared(const std::string& how, const Value& left, const Value& right) {
  if (how == "==") return left.equals(right);
  if (how == "!=") return !left.equals(right);
  if (how == "in") return contains(right, left);
  if (how == "not in") return !contains(right, left);
  const int64_t a = whole_number(left);
  const int64_t b = whole_number(right);
  if (how == "<") return a < b;
  if (how == ">") return a > b;
  return how == "<=" ? a <= b : a >= b;
}

Value combined(const std::string& how, const Value& left, const Value& right) {
  if (how == "~") return left.shown() + right.shown();
  if (how == "+" && left.text() != nullptr && right.text() != nullptr) {
    if (left.text()->size() + right.text()->size() > kMostTogether)
      fail_template("writes too much");
    return *left.text() + *right.text();
  }
  if (how == "+" && left.list() != nullptr && right.list() != nullptr) {
    List both = *left.list();
    both.insert(both.end(), right.list()->begin(), right.list()->end());
    if (both.size() > kMostTogether / 64) fail_template("makes too long a list");
    return both;
  }
  const int64_t a = whole_number(left);
  const int64_t b = whole_number(right);
  const bool small = std::abs(a) <= kMostNumber && std::abs(b) <= kMostNumber;
  if (small && how == "+") return a + b;
  if (small && how == "-") return a - b;
  if (small && how == "*") return a * b;
  if (small && b > 0 && how == "%") return ((a % b) + b) % b;
  fail_template("calculates in a way that is not supported (" + how + ")");
}

}  // namespace penstock::jinja
