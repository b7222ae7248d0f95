#include "launch/program/options/toml_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "launch/program/options/layer_list.h"
#include "launch/program/options/shortened.h"
#include "launch/program/options/toml_nesting.h"
#include "runtime/system/files/byte_text.h"

namespace penstock {
namespace {

template <typename Value>
std::optional<OptionValue> list_of(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<Value> list;
  for (const toml::node& element : *array) {
    // An integer is accepted as a double. A value of any other type must have the type itself.
    const std::optional<Value> value = std::is_same_v<Value, double> && element.is_integer()
                                           ? element.value<Value>()
                                           : element.value_exact<Value>();
    if (!value) return std::nullopt;
    if constexpr (std::is_same_v<Value, std::string>) {
      list.push_back(bytes_of(*value));
    } else {
      list.push_back(*value);
    }
  }
  return list;
}

}  // namespace

std::optional<OptionValue> value_of(const toml::node& node, const Option& option) {
  const OptionValue type = default_of(option);
  if (std::holds_alternative<bool>(type)) {
    if (const auto* flag = node.as_boolean()) return flag->get();
  } else if (std::holds_alternative<int64_t>(type)) {
    if (const auto* integer = node.as_integer()) return integer->get();
  } else if (std::holds_alternative<double>(type)) {
    if (node.is_number()) return *node.value<double>();
  } else if (std::holds_alternative<std::string>(type)) {
    if (const auto* text = node.as_string()) return bytes_of(text->get());
    if (option.accepts_number && node.is_number()) return text_of(*node.value<double>());
    // If true and false are among the words that a text option allows, as in auto | true | false,
    // TOML's true and false stand for these words.
    const auto* flag = node.as_boolean();
    const std::string word = flag != nullptr && flag->get() ? "true" : "false";
    if (flag != nullptr && std::ranges::count(option.limits.choices, word) > 0) return word;
  } else if (std::holds_alternative<std::vector<int64_t>>(type)) {
    return list_of<int64_t>(node);
  } else if (std::holds_alternative<std::vector<double>>(type)) {
    return list_of<double>(node);
  } else {
    // A single text is taken as a list of one text, as in targets = "all-linear" of peft's files,
    // and an empty one as an empty list, as on the command line.
    if (const auto* text = node.as_string()) {
      if (text->get().empty()) return std::vector<std::string>{};
      return std::vector<std::string>{bytes_of(text->get())};
    }
    return list_of<std::string>(node);
  }
  return std::nullopt;
}

std::string excerpt(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (const toml::array* array = node.as_array(); array != nullptr && array->is_array_of_tables()) {
    return "a list of tables";
  }
  std::ostringstream out;
  node.visit([&](const auto& typed) { out << typed; });
  std::string text = out.str();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return shortened(std::move(text));
}

namespace {

// Returns the text in quotes. Each byte that is not UTF-8 becomes an escape, which is read back as
// the same byte.
std::string escaped_string(const std::string& unicode) {
  std::string text = "\"";
  for (size_t at = 0; at < unicode.size(); ++at) {
    const std::string piece = unicode.substr(at, 4);
    const std::string byte = bytes_of(piece);
    const char c = unicode[at];
    if (piece.size() == 4 && byte.size() == 1) {
      text += fmt::format("\\U0010FE{:02X}", static_cast<uint8_t>(byte[0]));
      at += 3;
    } else if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      text += fmt::format("\\u{:04X}", static_cast<uint8_t>(c));
    } else {
      text += c;
    }
  }
  return text + "\"";
}

// Writes a text as TOML. For a text of several lines toml++ 3.3 would use ''' even if the text
// contains ''', or else single quotes, in which TOML forbids line feeds. No reader accepts these,
// so both forms are switched off for such a text.
std::string written(const std::string& text) {
  if (const std::string unicode = unicode_of(text); unicode != text) return escaped_string(unicode);
  using Flags = toml::format_flags;
  Flags flags = toml::toml_formatter::default_flags;
  if (text.find('\n') != std::string::npos) {
    flags &= ~(Flags::allow_multi_line_strings | Flags::allow_literal_strings);
  }
  std::ostringstream out;
  out << toml::toml_formatter(toml::value<std::string>(text), flags);
  return out.str();
}

std::string written(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <typename Number>
std::string written(Number number) {
  return fmt::format("{}", number);
}

template <typename Value>
std::string written(const std::vector<Value>& list) {
  return "[" + joined(list, ", ", [](const Value& element) { return written(element); }) + "]";
}

}  // namespace

std::string toml_text(const OptionValue& value) {
  return std::visit([](const auto& typed) { return written(typed); }, value);
}

toml::table parse_toml(const std::string& text, const std::string& name, const std::string& what) {
  if (const int line = overnested_line(text); line > 0) {
    fail_input(fmt::format("{}:{}: nested too deeply for a {}", name, line, what));
  }
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    fail_input(
        fmt::format("{}: not valid TOML: {}", place(name, error.source()), error.description()));
  }
}

}  // namespace penstock
