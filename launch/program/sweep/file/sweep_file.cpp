#include "launch/program/sweep/file/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/options/layer_list.h"
#include "launch/program/options/settings.h"
#include "launch/program/options/shortened.h"
#include "launch/program/options/toml_value.h"
#include "launch/program/sweep/file/plot_section.h"
#include "launch/program/sweep/file/section_key.h"
#include "launch/program/sweep/file/sweep_section.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// What a sweep settles itself.
constexpr std::array<std::pair<const char*, const char*>, 6> kOwnMatters = {{
    {"run.out", "sweep.out is where the points are"},
    {"run.resume", "points are gone on with by themselves"},
    {"run.overwrite", "points are gone on with by themselves"},
    {"run.epochs", "run.steps says how long all points are"},
    {"pipeline.auto", "the grid says what is tried"},
    {"pipeline.mini_batch", "sweep.mini_batch says it for all points"},
}};

const Option& checked_option(const std::string& written, const std::string& origin) {
  const Option* option = option_written(written);
  if (option == nullptr) {
    std::vector<std::string> known;
    for (const Option& one : option_table()) known.push_back(one.name());
    std::string hint = did_you_mean(shortened(written), known);
    if (hint.empty()) hint = "; `penstock train --help` lists all keys";
    fail_input(fmt::format("{}: unknown key '{}'{}", origin, shortened(written), hint));
  }
  for (const auto& [name, instead] : kOwnMatters) {
    if (option->name() == name) {
      fail_input(fmt::format("{}: '{}' is not for a sweep: {}", origin, name, instead));
    }
  }
  return *option;
}

OptionValue checked_value(const toml::node& node, const Option& option, const std::string& origin) {
  const std::optional<OptionValue> value = value_of(node, option);
  if (!value) refuse_value(option, excerpt(node), origin);
  if (!is_allowed(option, *value)) refuse_value(option, text_of(*value), origin);
  return *value;
}

// Calls take(name, node, origin) for every key, those of tables in it with dots.
template <class Take>
void for_each_key(const toml::table& table, const std::string& above, const std::string& file,
                  const Take& take) {
  for (const auto& [key, node] : table) {
    const std::string name = above + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      for_each_key(*inner, name + ".", file, take);
    } else {
      take(name, node, place(file, key.source()));
    }
  }
}

void read_set(const toml::table& table, const std::string& file, SweepFile& to) {
  for_each_key(table, "", file, [&](const auto& name, const auto& node, const auto& origin) {
    const Option& option = checked_option(name, origin);
    const OptionValue value = checked_value(node, option, origin);
    // It is no setting of the points: the same points are trained when it is gone.
    if (option.name() == "run.dry_run") {
      to.dry_run = std::get<bool>(value);
    } else {
      to.set.push_back({&option, value, origin});
    }
  });
}

void read_grid(const toml::table& table, const std::string& file, SweepFile& to) {
  for_each_key(table, "", file, [&](const auto& name, const auto& node, const auto& origin) {
    GridKey key{.option = &checked_option(name, origin), .values = {}, .origin = origin};
    if (key.option->name() == "run.dry_run") {
      fail_input(fmt::format("{}: 'run.dry_run' is for [set]: it is of all points", origin));
    }
    const toml::array* list = node.as_array();
    if (list != nullptr && list->empty()) {
      fail_input(
          fmt::format("{}: the list of '{}' in the grid is empty: give what to try, or leave "
                      "it out",
                      origin, name));
    }
    if (list == nullptr) {
      fail_input(fmt::format("{}: '{}' in the grid is a list of what to try: {} = [{}]", origin,
                             name, name, excerpt(node)));
    }
    for (const toml::node& element : *list) {
      key.values.push_back(checked_value(element, *key.option, origin));
    }
    to.grid.push_back(std::move(key));
  });
  // The order of the file is restored: toml++ sorts keys by name.
  std::sort(to.grid.begin(), to.grid.end(), [](const GridKey& a, const GridKey& b) {
    const auto line = [](const GridKey& key) {
      return std::stol(key.origin.substr(key.origin.rfind(':') + 1));
    };
    return line(a) < line(b);
  });
}

// Refuses a key that is given twice in one section, by its short name and by its full one.
template <class Key>
void refuse_two_names(const std::vector<Key>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (keys[i].option != keys[j].option) continue;
      fail_input(fmt::format("{}: '{}' is given at {}, too, by another name: give one of the two",
                             keys[i].origin, keys[i].option->name(), keys[j].origin));
    }
  }
}

void refuse_twice(const SweepFile& sweep) {
  refuse_two_names(sweep.set);
  refuse_two_names(sweep.grid);
  for (const SetKey& key : sweep.set) {
    for (const GridKey& varied : sweep.grid) {
      if (varied.option == key.option) {
        fail_input(fmt::format("{}: '{}' is in the grid as well, at {}: give one of the two",
                               key.origin, key.option->name(), varied.origin));
      }
    }
  }
}

}  // namespace

bool SweepFile::varies(const std::string& name) const {
  return std::any_of(grid.begin(), grid.end(),
                     [&](const GridKey& key) { return key.option->name() == name; });
}

std::string SweepFile::place_of(const std::string& name) const {
  for (const GridKey& key : grid) {
    if (key.option->name() == name) return key.origin;
  }
  const auto found = places.find(name);
  return found == places.end() ? path.string() : found->second;
}

bool SweepFile::says(const std::string& name) const {
  return varies(name) || std::any_of(set.begin(), set.end(),
                                     [&](const SetKey& key) { return key.option->name() == name; });
}

SweepFile parse_sweep_file(const std::string& text, const std::string& name) {
  const toml::table root = parse_toml(text, name, "sweep file");
  SweepFile sweep{.path = name};
  for (const auto& [key, node] : root) {
    const toml::table* table = node.as_table();
    const std::string origin = place(name, key.source());
    if (table == nullptr) {
      fail_input(
          fmt::format("{}: '{}' stands outside of a section: they are [sweep], [plot], [set] and "
                      "[grid]",
                      origin, shortened(std::string(key.str()))));
    }
    if (key.str() == "sweep") {
      read_sweep_section(*table, name, sweep);
    } else if (key.str() == "plot") {
      read_plot_section(*table, name, sweep);
    } else if (key.str() == "set") {
      read_set(*table, name, sweep);
    } else if (key.str() == "grid") {
      read_grid(*table, name, sweep);
    } else {
      const std::string written = shortened(std::string(key.str()));
      fail_input(fmt::format("{}: unknown section '{}'{}", origin, written,
                             did_you_mean(written, {"sweep", "plot", "set", "grid"})));
    }
  }
  settle_paths(name, sweep);
  refuse_twice(sweep);
  return sweep;
}

SweepFile read_sweep_file(const fs::path& path) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;  // such a file is a page
  return parse_sweep_file(read_text(path, kMostBytes, FileOwner::User), path.string());
}

}  // namespace penstock
