#include "runtime/data/templates/values/formatting.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "runtime/data/templates/functions/operators.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

constexpr int64_t kWidest = 10'000;

// Describes how a value is written, for example as "%-8.2f" or "{:>8.2f}" says.
struct FillForm {
  char align = '\0';  // < > ^ or =; '\0' puts numbers right and texts left
  std::string fill = " ";
  char sign = '-';
  bool alternate = false;  // whether 0x, 0o or 0b goes before the digits
  int64_t width = 0;
  std::optional<int64_t> precision = {};
  char type = '\0';
};

[[noreturn]] void fail_form(std::string_view form) {
  fail_template("fills in a value by " + penstock::quoted(std::string(form)) +
                ", which is not supported");
}

// Returns the number at `at` and moves `at` behind its decimal digits. Returns nothing if there are
// no digits.
std::optional<int64_t> number_at(std::string_view text, size_t& at) {
  size_t end = at;
  int64_t number = 0;
  for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end) {
    number = std::min(10 * number + (text[end] - '0'), kWidest + 1);
  }
  if (number > kWidest) fail_template("fills in a value at a width of more than 10000");
  if (end == at) return std::nullopt;
  at = end;
  return number;
}

// Holds the sign of a number, and its digits.
struct Digits {
  bool negative = false;
  std::string text;
};

Digits whole_digits(const Value& value, const FillForm& form) {
  const int64_t number = value.real() != nullptr && std::abs(*value.real()) < 9e18
                             ? static_cast<int64_t>(*value.real())
                             : whole_number(value);
  const int base = form.type == 'x' || form.type == 'X' ? 16
                   : form.type == 'o'                   ? 8
                   : form.type == 'b'                   ? 2
                                                        : 10;
  std::array<char, 72> room{};
  const auto magnitude =
      number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const auto end = std::to_chars(room.data(), room.data() + room.size(), magnitude, base).ptr;
  Digits digits{number < 0, std::string(room.data(), end)};
  if (form.type == 'X') std::ranges::transform(digits.text, digits.text.begin(), ::toupper);
  if (form.alternate && base != 10) digits.text = std::string("0") + form.type + digits.text;
  return digits;
}

Digits real_digits(const Value& value, const FillForm& form) {
  double number = real_number(value);
  if (!std::isfinite(number)) fail_template("fills in a number that is not finite");
  std::string behind;
  if (form.type == '%') {
    number *= 100;
    behind = "%";
  }
  const auto how = form.type == 'e'   ? std::chars_format::scientific
                   : form.type == 'g' ? std::chars_format::general
                                      : std::chars_format::fixed;
  const int64_t precision = form.precision.value_or(6);
  if (precision > 100 || (how == std::chars_format::general && form.alternate)) fail_form("#");
  std::array<char, 512> room{};
  const auto end = std::to_chars(room.data(), room.data() + room.size(), std::abs(number), how,
                                 static_cast<int>(precision))
                       .ptr;
  return {std::signbit(number), std::string(room.data(), end) + behind};
}

void write_aligned(Writer& writer, const std::string& sign, std::string_view text,
                   const FillForm& form, char align) {
  const int64_t missing = std::max<int64_t>(form.width - characters_in(text) - std::ssize(sign), 0);
  const int64_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  writer.add_times(form.fill, before);
  writer.add(sign);
  if (align == '=') writer.add_times(form.fill, missing);
  writer.add(text);
  if (align == '<' || align == '^') writer.add_times(form.fill, missing - before);
}

void write_number(Writer& writer, const Digits& digits, const FillForm& form) {
  const std::string sign = digits.negative    ? "-"
                           : form.sign == '-' ? ""
                                              : std::string(1, form.sign);
  write_aligned(writer, sign, digits.text, form, form.align == '\0' ? '>' : form.align);
}

void write_text(Budget& budget, Writer& writer, const Value& text, const FillForm& form) {
  Value kept = text;
  if (form.precision) kept = cut_of(budget, text, {std::nullopt, form.precision, std::nullopt});
  if (form.align == '=') fail_form("=");
  write_aligned(writer, "", *kept.text(), form, form.align == '\0' ? '<' : form.align);
}

Value repr_of(Budget& budget, const Value& value) {
  Writer written(budget);
  write_repr(written, value);
  return written.value();
}

class PercentForm {
 public:
  PercentForm(Budget& budget, const std::string& form, const Value& what)
      : budget_(budget), text_(form), what_(what), writer_(budget) {}

  Value run() {
    for (at_ = 0; at_ < text_.size();) {
      const size_t next = std::min(text_.find('%', at_), text_.size());
      writer_.add(text_.substr(at_, next - at_));
      at_ = next + 1;
      if (next < text_.size()) conversion();
    }
    const bool all = what_.table() != nullptr || named_ || taken_ == (is_tuple() ? size() : 1);
    if (!all) fail_template("fills in fewer values than it gives by %");
    return writer_.value();
  }

 private:
  [[nodiscard]] bool is_tuple() const {
    return what_.row() != nullptr && what_.row()->type == Row::Type::Tuple;
  }
  [[nodiscard]] size_t size() const { return what_.row()->items.size(); }

  Value next_value() {
    const size_t at = taken_++;
    if (is_tuple() && at < size()) return what_.row()->items[at];
    if (is_tuple() || at > 0) fail_template("gives fewer values than it fills in by %");
    return what_;
  }

  void conversion() {
    const size_t begin = at_ - 1;
    Value value;
    bool named = false;
    if (at_ < text_.size() && text_[at_] == '(') {
      const size_t end = text_.find(')', at_);
      if (end == std::string_view::npos || what_.table() == nullptr) fail_form("%(");
      value = item_of(budget_, what_,
                      text_value(budget_, std::string(text_.substr(at_ + 1, end - at_ - 1))));
      if (value.undefined()) fail_template("fills in a key that is not there");
      named = named_ = true;
      at_ = end + 1;
    }
    FillForm form;
    bool zero = false;
    for (;
         at_ < text_.size() && std::string_view("-+ #0").find(text_[at_]) != std::string_view::npos;
         ++at_) {
      if (text_[at_] == '-') form.align = '<';
      if (text_[at_] == '0') zero = true;
      if (text_[at_] == '#') form.alternate = true;
      if (text_[at_] == '+' || (text_[at_] == ' ' && form.sign != '+')) form.sign = text_[at_];
    }
    form.width = number_at(text_, at_).value_or(0);
    if (at_ < text_.size() && text_[at_] == '.')
      form.precision = number_at(text_, ++at_).value_or(0);
    if (at_ >= text_.size()) fail_form(text_.substr(begin));
    form.type = text_[at_++];
    if (form.type == '%' && at_ - begin == 2) return writer_.add('%');
    if (!named) value = next_value();
    if (form.type == 's' || form.type == 'r') {
      const Value text = form.type == 's' ? str_of(budget_, value) : repr_of(budget_, value);
      if (form.align == '\0') form.align = '>';
      return write_text(budget_, writer_, text, form);
    }
    if (zero && form.align == '\0') {
      form.align = '=';
      form.fill = "0";
    }
    const bool whole = std::string_view("dixXo").find(form.type) != std::string_view::npos;
    const bool real = std::string_view("feg").find(form.type) != std::string_view::npos;
    if ((!whole && !real) || (whole && form.precision)) fail_form(text_.substr(begin, at_ - begin));
    write_number(writer_, whole ? whole_digits(value, form) : real_digits(value, form), form);
  }

  Budget& budget_;
  std::string_view text_;
  const Value& what_;
  Writer writer_;
  size_t at_ = 0, taken_ = 0;
  bool named_ = false;
};

// Returns the form that a text writes as "[[fill]align][sign][#][0][width][.precision][type]".
// Refuses a text that goes on behind the form.
FillForm brace_form(std::string_view text) {
  constexpr std::string_view kAligns = "<>^=";
  FillForm form;
  size_t at = 0;
  const auto is_align = [&](size_t i) {
    return i < text.size() && kAligns.find(text[i]) != std::string_view::npos;
  };
  size_t first = 1;  // bytes of the first character
  while (first < text.size() && (static_cast<uint8_t>(text[first]) & 0xC0U) == 0x80U) ++first;
  if (is_align(first)) {
    form.fill = std::string(text.substr(0, first));
    form.align = text[first];
    at = first + 1;
  } else if (is_align(0)) {
    form.align = text[0];
    at = 1;
  }
  if (at < text.size() && std::string_view("+- ").find(text[at]) != std::string_view::npos) {
    form.sign = text[at++];
  }
  if (at < text.size() && text[at] == '#') {
    form.alternate = true;
    ++at;
  }
  if (at < text.size() && text[at] == '0' && form.align == '\0') {
    form.align = '=';
    form.fill = "0";
  }
  form.width = number_at(text, at).value_or(0);
  if (at < text.size() && text[at] == '.') {
    form.precision = number_at(text, ++at);
    if (!form.precision) fail_form(text);
  }
  if (at < text.size()) form.type = text[at++];
  if (at < text.size()) fail_form(text);
  return form;
}

void write_by(Budget& budget, Writer& writer, const Value& value, std::string_view text) {
  if (text.empty()) return write_shown(writer, value);
  const FillForm form = brace_form(text);
  const bool whole = value.whole() != nullptr &&
                     std::string_view("dxXob").find(form.type) != std::string_view::npos;
  const bool real = (value.whole() != nullptr || value.real() != nullptr) &&
                    std::string_view("feg%").find(form.type) != std::string_view::npos;
  if (value.text() != nullptr && (form.type == '\0' || form.type == 's')) {
    write_text(budget, writer, value, form);
  } else if (whole || (value.whole() != nullptr && form.type == '\0' && !form.precision)) {
    write_number(writer, whole_digits(value, form), form);
  } else if (real) {
    write_number(writer, real_digits(value, form), form);
  } else {
    fail_form(text);
  }
}

}  // namespace

Value percent_formatted(Budget& budget, const Value& form, const Value& what) {
  if (form.escaped()) fail_template("fills values into an escaped text, which is not supported");
  return PercentForm(budget, *form.text(), what).run();
}

Value brace_formatted(Budget& budget, const Value& form, const Arguments& with) {
  if (form.escaped()) fail_template("fills values into an escaped text, which is not supported");
  const std::string_view text = *form.text();
  Writer writer(budget);
  size_t counted = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find_first_of("{}", at), text.size());
    writer.add(text.substr(at, next - at));
    at = next;
    if (at >= text.size()) break;
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      writer.add(text[at]);
      at += 2;
      continue;
    }
    const size_t end = text.find('}', at);
    if (text[at] == '}' || end == std::string_view::npos) fail_form(text.substr(at, 20));
    const std::string_view field = text.substr(at + 1, end - at - 1);
    const size_t colon = std::min(field.find(':'), field.size());
    const size_t name_end = std::min(field.find('!'), colon);
    const std::string name(field.substr(0, name_end));
    const std::string_view conversion = field.substr(name_end, colon - name_end);
    if (field.find_first_of("{.[", 0) < name_end ||
        (!conversion.empty() && conversion != "!r" && conversion != "!s")) {
      fail_form(field);
    }
    const auto named = std::ranges::find(with.named, name, &std::pair<std::string, Value>::first);
    const bool number = name.find_first_not_of("0123456789") == std::string::npos;
    Value value;
    if (number) {
      const size_t index =
          name.empty() ? counted++ : static_cast<size_t>(*whole_literal(name).whole());
      if (index >= with.values.size()) fail_template("fills in more values than it gives");
      value = with.values[index];
    } else {
      if (named == with.named.end())
        fail_template("fills in " + penstock::quoted(name) + ", which it does not give");
      value = named->second;
    }
    if (conversion == "!r") value = repr_of(budget, value);
    if (conversion == "!s") value = str_of(budget, value);
    write_by(budget, writer, value, field.substr(std::min(colon + 1, field.size())));
    at = end + 1;
  }
  return writer.value();
}

}  // namespace penstock::jinja
