// kernels/plain_text.h -- makes text safe for a terminal: names in it are untrusted input from
// files. Header only.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Returns how many bytes the first character of the text (in UTF-8) has, if it is one that a
// terminal would obey: a control character, or one that changes the direction of the text behind
// it. Else returns 0.
[[nodiscard]] inline size_t obeyed_bytes(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return 2;  // C1
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;                     // U+061C
  if (byte(0) != 0xe2) return 0;
  const bool marks = byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f);   // U+200E, U+200F
  const bool embeds = byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae;    // U+2028 .. U+202E
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;  // U+2066 .. U+2069
  return marks || embeds || isolates ? 3 : 0;
}

// Returns the text with a question mark for each character that a terminal would obey. Tabs and
// ends of lines become spaces; where `has_lines` is true, ends of lines stay.
[[nodiscard]] inline std::string plain_text(std::string_view text, bool has_lines = false) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const size_t obeyed = text[0] == '\n' && has_lines ? 0 : obeyed_bytes(text);
    if (obeyed == 0) {
      plain += text[0];
    } else {
      plain += text[0] == '\n' || text[0] == '\t' ? ' ' : '?';
    }
    text.remove_prefix(obeyed == 0 ? 1 : obeyed);
  }
  return plain;
}

}  // namespace penstock
