// launch/program/options/run_file.cpp -- toml++ does TOML; here its nodes meet the option table.
#include "launch/program/options/run_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/options/layer_list.h"
#include "launch/program/options/shortened.h"
#include "launch/program/options/toml_nesting.h"
#include "runtime/files/input_file.h"
#include "runtime/run_directory/names.h"

namespace penstock {
namespace {

template <typename Value>
std::optional<OptionValue> list_of(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<Value> list;
  for (const toml::node& element : *array) {
    // Integers count as numbers; no other type counts as another.
    const std::optional<Value> value = std::is_same_v<Value, double> && element.is_integer()
                                           ? element.value<Value>()
                                           : element.value_exact<Value>();
    if (!value) return std::nullopt;
    list.push_back(*value);
  }
  return list;
}

// The node as the type of the option; nothing when it is of another.
std::optional<OptionValue> value_of(const toml::node& node, const Option& option) {
  const OptionValue type = default_of(option);
  if (std::holds_alternative<bool>(type)) {
    if (const auto* flag = node.as_boolean()) return flag->get();
  } else if (std::holds_alternative<int64_t>(type)) {
    if (const auto* integer = node.as_integer()) return integer->get();
  } else if (std::holds_alternative<double>(type)) {
    if (node.is_number()) return *node.value<double>();
  } else if (std::holds_alternative<std::string>(type)) {
    if (const auto* text = node.as_string()) return text->get();
    if (option.accepts_number && node.is_number()) return text_of(*node.value<double>());
  } else if (std::holds_alternative<std::vector<int64_t>>(type)) {
    return list_of<int64_t>(node);
  } else if (std::holds_alternative<std::vector<double>>(type)) {
    return list_of<double>(node);
  } else {
    return list_of<std::string>(node);
  }
  return std::nullopt;
}

// A node as the user may have written it, short enough for a message of one line.
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

[[noreturn]] void refuse_key(const std::string& key, const std::string& origin) {
  const std::string written = shortened(key);
  std::vector<std::string> known;
  for (const Option& option : option_table()) {
    known.push_back(option.name());
  }
  std::string hint = did_you_mean(written, known);
  if (hint.empty()) hint = "; `penstock train --help` lists all keys";
  fail_input(fmt::format("{}: unknown key '{}'{}", origin, written, hint));
}

void read_key(const std::string& section, const toml::key& toml_key, const toml::node& node,
              const std::string& file, Settings& settings) {
  const std::string name = section + "." + std::string(toml_key.str());
  const std::string origin = place(file, toml_key.source());
  const Option* option = find_option(name);
  if (option == nullptr) refuse_key(name, origin);
  if (name == "model.layers" && node.is_array()) {
    settings.config.model.sequence = read_layers(node, name, file);
    settings.origins[name] = origin;
    return;
  }
  const std::optional<OptionValue> value = value_of(node, *option);
  if (!value) refuse_value(*option, excerpt(node), origin);
  assign(settings, *option, *value, origin);
}

[[noreturn]] void refuse_section(const std::string& section, bool is_table,
                                 const std::string& origin) {
  const std::string written = shortened(section);
  if (is_section(written)) {
    fail_input(
        fmt::format("{0}: '{1}' is a section: write [{1}] and its keys below", origin, written));
  }
  std::vector<std::string> sections, keys;
  for (const Option& option : option_table()) {
    if (sections.empty() || sections.back() != option.section) sections.push_back(option.section);
    if (option.key == written) {
      fail_input(fmt::format("{}: key '{}' stands outside its section; it belongs under [{}]",
                             origin, written, option.section));
    }
  }
  fail_input(fmt::format("{}: unknown {} '{}'{}", origin, is_table ? "section" : "key", written,
                         did_you_mean(written, sections)));
}

std::string toml_text(const OptionValue& value) {
  std::ostringstream out;
  if (const auto* flag = std::get_if<bool>(&value)) {
    out << toml::value<bool>(*flag);
  } else if (const auto* integer = std::get_if<int64_t>(&value)) {
    out << toml::value<int64_t>(*integer);
  } else if (const auto* number = std::get_if<double>(&value)) {
    return number_text(*number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    out << toml::value<std::string>(*text);
  }
  return out.str();
}

template <typename Value>
std::string list_text(const std::vector<Value>& list) {
  std::string text = "[";
  for (const Value& element : list) {
    text += (text.size() > 1 ? ", " : "") + toml_text(element);
  }
  return text + "]";
}

std::string written(const OptionValue& value) {
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) return list_text(*integers);
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) return list_text(*numbers);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return list_text(*texts);
  return toml_text(value);
}

}  // namespace

void parse_run_file(const std::string& text, const std::string& name, Settings& settings) {
  if (const int line = overnested_line(text); line > 0) {
    fail_input(fmt::format("{}:{}: nested too deeply for a run file", name, line));
  }
  toml::table root;
  try {
    root = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    fail_input(
        fmt::format("{}: not valid TOML: {}", place(name, error.source()), error.description()));
  }
  for (const auto& [key, node] : root) {
    const std::string section(key.str());
    const toml::table* table = node.as_table();
    if (table == nullptr || !is_section(section)) {
      refuse_section(section, table != nullptr, place(name, key.source()));
    }
    for (const auto& [inner, value] : *table) {
      read_key(section, inner, value, name, settings);
    }
  }
}

void read_run_file(const std::filesystem::path& path, Settings& settings) {
  settings.run_file = path;
  constexpr int64_t kMostBytes = int64_t{1} << 20;  // a run file is a page
  parse_run_file(read_text(path.string(), kMostBytes, FileOwner::User), path.string(), settings);
}

std::string write_run_file(const Config& config) {
  std::string text = kEffectiveHeader;
  text += "\n# Itself a run file: `penstock train run.toml` does the same again.\n";
  std::string section;
  for (const Option& option : option_table()) {
    if (option.section != section) {
      section = option.section;
      text += fmt::format("\n[{}]\n", section);
    }
    const bool as_list = option.name() == "model.layers" && !config.model.sequence.empty();
    text +=
        fmt::format("{} = {}\n", option.key,
                    as_list ? write_layers(config.model.sequence) : written(option.get(config)));
  }
  return text;
}

}  // namespace penstock
