// runtime/data/tokenizer/utf8.h -- helpers for texts in UTF-8: replacing what is not valid, and
// stepping over characters and white space. Places in a text are byte offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/system/files/byte_text.h"

namespace penstock {

// Returns `bytes` if they are valid UTF-8; else writes them to `storage` with U+FFFD in place of
// what is not, as Python's bytes.decode(errors="replace") does it, and returns that.
[[nodiscard]] std::string_view valid_utf8(std::string_view bytes, std::string& storage);

// The number of bytes that valid_utf8() replaces.
[[nodiscard]] int64_t bytes_not_utf8(std::string_view bytes);

// Appends the character with this code point, which is below 0x110000 and no surrogate.
void append_utf8(std::string& text, char32_t code);

// The character at byte `at` of valid UTF-8.
struct Utf8Character {
  char32_t code = 0;
  size_t bytes = 1;  // how many it takes
};
[[nodiscard]] Utf8Character utf8_at(std::string_view text, size_t at);

// Whether Unicode calls the character White_Space.
[[nodiscard]] bool is_white_space(char32_t code);
// space_begin() goes back from `end` over white space and returns where that begins; space_end()
// goes on from `begin` over white space and returns where that ends. Without white space there they
// return their argument.
[[nodiscard]] size_t space_begin(std::string_view text, size_t end);
[[nodiscard]] size_t space_end(std::string_view text, size_t begin);
// The place where the last character before `end` begins.
[[nodiscard]] size_t character_before(std::string_view text, size_t end);

}  // namespace penstock
