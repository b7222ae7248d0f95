// runtime/data/templates/values/characters.h -- what Python's str knows of Unicode characters:
// upper and lower case, names, white space, which characters can be printed.
//
// The library ICU is asked for characters beyond ASCII; a build without ICU throws Error(Resource)
// then.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::jinja {

// `text`, which is valid UTF-8, after Python's str.upper(), str.lower() or str.capitalize().
enum class Case : uint8_t { Upper, Lower, Capital };
[[nodiscard]] std::string in_case(std::string_view text, Case wanted);

// Whether Python's repr() writes the character as it is, and not as an escape like \x1f.
[[nodiscard]] bool printable(char32_t c);

// The character with this Unicode name, such as "BULLET"; nullopt: there is none.
[[nodiscard]] std::optional<char32_t> named_character(const std::string& name);

[[nodiscard]] bool only_ascii(std::string_view text);
// Whether str.strip() removes the character: white space, and the separators 0x1C to 0x1F.
[[nodiscard]] bool is_python_space(char32_t c);

}  // namespace penstock::jinja
