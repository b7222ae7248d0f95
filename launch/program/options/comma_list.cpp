#include "launch/program/options/comma_list.h"

#include <algorithm>

namespace penstock {
namespace {

std::string without_padding(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::vector<std::string> split_at_commas(const std::string& text) {
  if (without_padding(text).empty()) return {};
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(without_padding(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

}  // namespace penstock
