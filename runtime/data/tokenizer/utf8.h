// runtime/data/tokenizer/utf8.h -- UTF-8: bytes as valid UTF-8, as Python decodes them; characters
// and white space in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/system/files/byte_text.h"

namespace penstock {

// `bytes` where they are UTF-8; else `storage`, with U+FFFD for each longest part that cannot be
// continued to a character, as Python's bytes.decode(errors="replace") writes it.
[[nodiscard]] std::string_view valid_utf8(std::string_view bytes, std::string& storage);

// Appends the character. `code` is a scalar value: no surrogate, below 0x110000.
void append_utf8(std::string& text, char32_t code);

// The character at byte `at` of valid UTF-8.
struct Utf8Character {
  char32_t code = 0;
  size_t bytes = 1;  // how many it takes
};
[[nodiscard]] Utf8Character utf8_at(std::string_view text, size_t at);

// Unicode's White_Space.
[[nodiscard]] bool is_white_space(char32_t code);
// Where the white space that ends at `end` begins, and where the white space that begins at `begin`
// ends.
[[nodiscard]] size_t space_begin(std::string_view text, size_t end);
[[nodiscard]] size_t space_end(std::string_view text, size_t begin);
// The place where the character before `end` begins.
[[nodiscard]] size_t character_before(std::string_view text, size_t end);

}  // namespace penstock
