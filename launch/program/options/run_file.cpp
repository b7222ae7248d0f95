// launch/program/options/run_file.cpp -- toml++ does TOML; here its nodes meet the option table.
#include "launch/program/options/run_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/options/layer_list.h"
#include "launch/program/options/shortened.h"
#include "launch/program/options/toml_value.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

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

}  // namespace

void parse_run_file(const std::string& text, const std::string& name, Settings& settings) {
  const toml::table root = parse_toml(text, name, "run file");
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
  settings.config.model.packed = packs_rows(settings.config.data);
  settings.in_file = settings.config;
  settings.made_by_program = text.starts_with(kEffectiveHeader);
}

void read_run_file(const std::filesystem::path& path, Settings& settings) {
  settings.run_file = path;
  constexpr int64_t kMostBytes = int64_t{1} << 20;  // a run file is about a page long
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
                    as_list ? write_layers(config.model.sequence) : toml_text(option.get(config)));
  }
  return text;
}

}  // namespace penstock
