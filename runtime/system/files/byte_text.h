// runtime/system/files/byte_text.h -- turns bytes that need not be UTF-8 into text and back. The
// names of files are bytes, and an older one may be in Latin-1; TOML and JSON know only UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// The number of bytes of the character at `at`, 1 to 4; 0 where there is none. `bad` is then the
// number of bytes, at least 1, that one U+FFFD stands for.
[[nodiscard]] size_t character_bytes(std::string_view text, size_t at, size_t& bad);

// Bytes as text for formats that are read again, and back. UTF-8 stays as it is; each other byte
// 0xNN becomes the character U+10FENN, which is private and nobody's ("\U0010FEE9" in a run file).
// Such a character in `bytes` is written byte by byte in the same way, so that
// bytes_of(unicode_of(bytes)) is always `bytes`.
[[nodiscard]] std::string unicode_of(std::string_view bytes);
[[nodiscard]] std::string bytes_of(std::string_view unicode);

// Bytes as text for people: UTF-8 as it is, and each other byte as \xNN; in a text that has such
// bytes, and in no other, a backslash is doubled.
[[nodiscard]] std::string shown_bytes(std::string_view bytes);

}  // namespace penstock
