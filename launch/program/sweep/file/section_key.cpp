#include "launch/program/sweep/file/section_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/options/layer_list.h"
#include "launch/program/options/shortened.h"
#include "launch/program/options/toml_value.h"
#include "runtime/system/files/byte_text.h"

namespace penstock {
namespace {

const SectionKey& known_key(const std::string& name, const std::string& section,
                            std::span<const SectionKey> keys, const std::string& elsewhere,
                            const std::string& origin) {
  const auto known = std::find_if(keys.begin(), keys.end(),
                                  [&](const SectionKey& key) { return name == key.name; });
  if (known != keys.end()) return *known;
  std::vector<std::string> names;
  for (const SectionKey& key : keys) names.emplace_back(key.name);
  std::string hint = did_you_mean(shortened(name), names);
  if (hint.empty()) hint = elsewhere;
  fail_input(fmt::format("{}: unknown key '{}.{}'{}", origin, section, shortened(name), hint));
}

}  // namespace

void read_section(const toml::table& table, const std::string& section,
                  std::span<const SectionKey> keys, const std::string& elsewhere,
                  const std::string& file, SweepFile& to) {
  for (const auto& [written, node] : table) {
    const std::string name(written.str());
    const std::string origin = place(file, written.source());
    const SectionKey& key = known_key(name, section, keys, elsewhere, origin);
    bool is_set = false;
    try {
      is_set = key.set(node, to);
    } catch (const Error& error) {
      fail_input(fmt::format("{}: '{}.{}': {}", origin, section, name, error.what()));
    }
    if (!is_set) {
      fail_input(fmt::format("{}: '{}.{}' must be {}, not {}", origin, section, name, key.allowed,
                             excerpt(node)));
    }
    to.places[fmt::format("{}.{}", section, name)] = origin;
  }
}

bool set_text(const toml::node& node, std::string& to) {
  const auto* text = node.as_string();
  if (text != nullptr) to = bytes_of(text->get());
  return text != nullptr && !to.empty();
}

const Option* option_written(const std::string& written) {
  if (const Option* option = find_option(written)) return option;
  std::string shorthand = written;
  std::replace(shorthand.begin(), shorthand.end(), '_', '-');
  return find_shorthand(shorthand);
}

}  // namespace penstock
