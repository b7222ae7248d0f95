// runtime/system/files/byte_text.h -- turns bytes that need not be valid UTF-8 into text that is,
// and back.
//
// Names of files are bytes, and old names may be in Latin-1; but TOML and JSON, the formats of run
// files and records, hold only UTF-8. unicode_of() and bytes_of() are for files that are read
// again, shown_bytes() is for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// The length in bytes, 1 to 4, of the UTF-8 character that begins at index `at` of the text; 0
// where the bytes are not valid UTF-8. Then `bad` is set to the number of bytes, at least 1, that a
// reader replaces by one U+FFFD, as Unicode recommends.
[[nodiscard]] size_t character_bytes(std::string_view text, size_t at, size_t& bad);

// UTF-8 that stands for any bytes, and back: bytes_of(unicode_of(bytes)) is always `bytes`. Valid
// UTF-8 stays as it is. A byte 0xNN that is not part of it becomes the character U+10FENN, which is
// in a private area of Unicode (byte 0xE9 is "\U0010FEE9" in a run file). Where `bytes` contains
// such a character already, its four bytes are turned into four such characters.
[[nodiscard]] std::string unicode_of(std::string_view bytes);
[[nodiscard]] std::string bytes_of(std::string_view unicode);

// Bytes for people: valid UTF-8 stays, each other byte becomes \xNN. Where there are such bytes
// each backslash of the text is doubled; a text without such bytes is returned as it is.
[[nodiscard]] std::string shown_bytes(std::string_view bytes);

}  // namespace penstock
