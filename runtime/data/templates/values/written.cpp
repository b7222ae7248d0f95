#include "runtime/data/templates/values/written.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "runtime/data/templates/values/characters.h"
#include "runtime/data/tokenizer/utf8.h"

namespace penstock::jinja {
namespace {

std::string hex(char32_t code, size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(digits, '0');
  for (size_t i = digits; i-- > 0; code >>= 4) text[i] = kDigits[code & 15];
  return text;
}

void write_quoted(Writer& writer, std::string_view text) {
  const bool doubled =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = doubled ? '"' : '\'';
  writer.add(quote);
  for (size_t at = 0; at < text.size();) {
    const Utf8Character c = utf8_at(text, at);
    if (c.code == static_cast<char32_t>(quote) || c.code == '\\') {
      writer.add('\\');
      writer.add(static_cast<char>(c.code));
    } else if (c.code == '\n' || c.code == '\r' || c.code == '\t') {
      writer.add(c.code == '\n' ? "\\n" : c.code == '\r' ? "\\r" : "\\t");
    } else if (printable(c.code)) {
      writer.add(text.substr(at, c.bytes));
    } else if (c.code < 0x100) {
      writer.add("\\x" + hex(c.code, 2));
    } else {
      writer.add(c.code < 0x10000 ? "\\u" + hex(c.code, 4) : "\\U" + hex(c.code, 8));
    }
    at += c.bytes;
  }
  writer.add(quote);
}

void write_json_character(Writer& writer, std::string_view bytes, char32_t code, bool ascii) {
  constexpr std::string_view kPlain = "\"\\\n\r\t\b\f";
  constexpr std::string_view kLetters = "\"\\nrtbf";
  const size_t known = code < 0x80 ? kPlain.find(static_cast<char>(code)) : std::string_view::npos;
  if (known != std::string_view::npos) {
    writer.add('\\');
    writer.add(kLetters[known]);
  } else if (code < 0x20 || (ascii && code >= 0x7F + 1 && code < 0x10000)) {
    writer.add("\\u" + hex(code, 4));
  } else if (ascii && code >= 0x10000) {
    writer.add("\\u" + hex(0xD800 + ((code - 0x10000) >> 10), 4));
    writer.add("\\u" + hex(0xDC00 + ((code - 0x10000) & 0x3FF), 4));
  } else {
    writer.add(bytes);
  }
}

void write_json_text(Writer& writer, std::string_view text, bool ascii) {
  writer.add('"');
  for (size_t at = 0; at < text.size();) {
    const Utf8Character c = utf8_at(text, at);
    write_json_character(writer, text.substr(at, c.bytes), c.code, ascii);
    at += c.bytes;
  }
  writer.add('"');
}

class JsonWriter {
 public:
  JsonWriter(Writer& writer, const JsonForm& form) : writer_(writer), form_(form) {
    between_ = form.between.value_or(form.indent ? "," : ", ");
    behind_key_ = form.behind_key.value_or(": ");
  }

  void write(const Value& value, int64_t level) {
    if (value.text() != nullptr) {
      write_json_text(writer_, *value.text(), form_.ascii);
    } else if (value.row() != nullptr && value.row()->type <= Row::Type::Tuple) {
      write_row(*value.row(), level);
    } else if (value.table() != nullptr) {
      write_table(*value.table(), level);
    } else {
      writer_.add(plain(value));
    }
  }

 private:
  // Returns a number, a boolean or none as JSON; refuses any other value.
  static std::string plain(const Value& value) {
    if (value.none()) return "null";
    if (const bool* truth = value.boolean()) return *truth ? "true" : "false";
    if (const int64_t* number = value.whole()) return std::to_string(*number);
    if (const double* number = value.real()) return json_real(*number);
    fail_template("writes " + kind_of(value) + " as JSON");
  }

  // Returns a number as JSON. Python's json.dumps has names of its own for values that JSON cannot
  // write as numbers.
  static std::string json_real(double number) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
    return written_real(number);
  }

  void line(int64_t level) {
    if (!form_.indent) return;
    writer_.add('\n');
    writer_.add_times(*form_.indent, level);
  }

  void write_row(const Row& row, int64_t level) {
    if (row.items.empty()) return writer_.add("[]");
    writer_.add('[');
    for (size_t i = 0; i < row.items.size(); ++i) {
      if (i > 0) writer_.add(between_);
      line(level + 1);
      write(row.items[i], level + 1);
    }
    line(level);
    writer_.add(']');
  }

  void write_table(const Table& table, int64_t level) {
    if (table.pairs.empty()) return writer_.add("{}");
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& pair : table.pairs) order.push_back(&pair);
    if (form_.sorted) {
      std::ranges::stable_sort(order, [](const auto* a, const auto* b) {
        if (a->first.text() == nullptr || b->first.text() == nullptr) {
          fail_template("sorts keys that are no texts");
        }
        return *a->first.text() < *b->first.text();
      });
    }
    writer_.add('{');
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0) writer_.add(between_);
      line(level + 1);
      const Value& key = order[i]->first;
      write_json_text(writer_, key.text() != nullptr ? *key.text() : plain(key), form_.ascii);
      writer_.add(behind_key_);
      write(order[i]->second, level + 1);
    }
    line(level);
    writer_.add('}');
  }

  Writer& writer_;
  const JsonForm& form_;
  std::string between_, behind_key_;
};

void write_row_repr(Writer& writer, const Row& row) {
  if (row.type > Row::Type::Tuple) {
    fail_template("writes a range or what a filter gives once, which is not supported");
  }
  const bool tuple = row.type == Row::Type::Tuple;
  writer.add(tuple ? '(' : '[');
  for (size_t i = 0; i < row.items.size(); ++i) {
    if (i > 0) writer.add(", ");
    write_repr(writer, row.items[i]);
  }
  if (tuple && row.items.size() == 1) writer.add(',');
  writer.add(tuple ? ')' : ']');
}

}  // namespace

std::string written_real(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 64> room{};
  const auto written = [&](std::chars_format form) {
    const auto end = std::to_chars(room.data(), room.data() + room.size(), number, form).ptr;
    return std::string(room.data(), end);
  };
  std::string text = written(std::chars_format::scientific);
  const int exponent = std::stoi(text.substr(text.find('e') + 1));
  if (exponent < -4 || exponent >= 16) return text;
  text = written(std::chars_format::fixed);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

void write_repr(Writer& writer, const Value& value) {
  if (value.text() != nullptr) {
    if (value.escaped()) fail_template("writes an escaped text in a list, which is not supported");
    return write_quoted(writer, *value.text());
  }
  if (value.row() != nullptr) return write_row_repr(writer, *value.row());
  if (value.undefined()) return writer.add("Undefined");
  if (value.table() == nullptr) return write_shown(writer, value);
  writer.add('{');
  bool first = true;
  for (const auto& [key, item] : value.table()->pairs) {
    if (!std::exchange(first, false)) writer.add(", ");
    write_repr(writer, key);
    writer.add(": ");
    write_repr(writer, item);
  }
  writer.add('}');
}

void write_shown(Writer& writer, const Value& value) {
  if (value.text() != nullptr) return writer.add(*value.text());
  if (value.undefined()) return;
  if (value.none()) return writer.add("None");
  if (const bool* truth = value.boolean()) return writer.add(*truth ? "True" : "False");
  if (const int64_t* number = value.whole()) return writer.add(std::to_string(*number));
  if (const double* number = value.real()) return writer.add(written_real(*number));
  if (value.row() != nullptr || value.table() != nullptr) return write_repr(writer, value);
  fail_template("writes " + kind_of(value) + ", which is not supported");
}

Value str_of(Budget& budget, const Value& value) {
  if (value.text() != nullptr) return value;
  Writer writer(budget);
  write_shown(writer, value);
  return writer.value();
}

void write_json(Writer& writer, const Value& value, const JsonForm& form) {
  JsonWriter(writer, form).write(value, 0);
}

void write_escaped(Writer& writer, std::string_view text) {
  constexpr std::string_view kPlain = "&<>'\"";
  constexpr std::array<std::string_view, 5> kWritten = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find_first_of(kPlain, at), text.size());
    writer.add(text.substr(at, next - at));
    if (next < text.size()) writer.add(kWritten[kPlain.find(text[next])]);
    at = next + 1;
  }
}

}  // namespace penstock::jinja
