// runtime/data/templates/values/characters.h -- what Python knows of characters: cases, names,
// which can be printed. Beyond ASCII it is ICU that knows; a build without ICU throws
// Error(Resource) there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::jinja {

// str.upper(), str.lower() and str.capitalize() of valid UTF-8.
enum class Case : uint8_t { Upper, Lower, Capital };
[[nodiscard]] std::string in_case(std::string_view text, Case wanted);

// Whether Python's repr() writes the character as it is.
[[nodiscard]] bool printable(char32_t c);

// The character of this name: "BULLET".
[[nodiscard]] std::optional<char32_t> named_character(const std::string& name);

[[nodiscard]] bool only_ascii(std::string_view text);
// Whether str.strip() removes the character: white space, and the separators 0x1C to 0x1F.
[[nodiscard]] bool is_python_space(char32_t c);

}  // namespace penstock::jinja
