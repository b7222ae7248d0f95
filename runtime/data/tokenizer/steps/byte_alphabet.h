// runtime/data/tokenizer/steps/byte_alphabet.h -- the alphabet of byte-level vocabularies (Radford
// et al. 2019): each byte is written as one visible character, so that a vocabulary is a list of
// texts although its entries are bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

[[nodiscard]] char32_t character_of_byte(uint8_t byte);
// The bytes that a word of this alphabet writes; nothing where it has another character, or is no
// UTF-8.
[[nodiscard]] std::optional<std::string> bytes_of_word(std::string_view word);

}  // namespace penstock
