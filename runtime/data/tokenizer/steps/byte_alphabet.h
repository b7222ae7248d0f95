// runtime/data/tokenizer/steps/byte_alphabet.h -- the byte alphabet of GPT-2 (Radford et al. 2019),
// in which vocabularies are written whose entries are bytes: each byte is written as one visible
// character.
//
// Bytes that are visible characters in Latin-1 are written as these; the others as characters from
// U+0100 on, so a space is written as U+0120.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

[[nodiscard]] char32_t character_of_byte(uint8_t byte);
// The bytes that a word of this alphabet, given in UTF-8, stands for; nullopt if the word has a
// character that is not in the alphabet, or is no UTF-8.
[[nodiscard]] std::optional<std::string> bytes_of_word(std::string_view word);

}  // namespace penstock
