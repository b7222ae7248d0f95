// What is known of characters in every build.
#include <algorithm>
#include <cstdint>

#include "runtime/data/templates/values/characters.h"

namespace penstock::jinja {

bool only_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<int8_t>(c) >= 0; });
}

bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

}  // namespace penstock::jinja
