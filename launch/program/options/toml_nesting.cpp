#include "launch/program/options/toml_nesting.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr int kMostParts = 16;
constexpr int kMostBrackets = 64;

// Returns the length of the text in quotes that `toml` begins with, quotes included. If the text
// has no end, that is all of `toml`.
size_t length_of_text(std::string_view toml) {
  const char quote = toml.front();
  const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
  const bool many_lines = toml.starts_with(three);
  for (size_t at = many_lines ? 3 : 1; at < toml.size(); ++at) {
    if (toml[at] == '\\' && quote == '"') {
      ++at;
    } else if (!many_lines && (toml[at] == quote || toml[at] == '\n')) {
      return at + 1;
    } else if (many_lines && toml.substr(at).starts_with(three)) {
      // Up to two quotes directly before the closing three belong to the text.
      const size_t end = toml.find_first_not_of(quote, at + 3);
      return std::min({end, at + 5, toml.size()});
    }
  }
  return toml.size();
}

}  // namespace

int overnested_line(std::string_view toml) {
  int line = 1;
  int brackets = 0;
  int parts = 1;  // parts so far of the key, if there is a key here
  for (size_t at = 0; at < toml.size();) {
    const char c = toml[at];
    size_t length = 1;
    if (c == '#') {
      length = std::min(toml.find('\n', at), toml.size()) - at;
    } else if (c == '"' || c == '\'') {
      length = length_of_text(toml.substr(at));
    } else if (c == '.') {
      ++parts;
    } else if (c == '[' || c == '{') {
      ++brackets;
    } else if (c == ']' || c == '}') {
      brackets = std::max(0, brackets - 1);
    }
    if (parts > kMostParts || brackets > kMostBrackets) return line;
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) parts = 1;
    const std::string_view passed = toml.substr(at, length);
    line += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at += length;
  }
  return 0;
}

}  // namespace penstock
