// runtime/data/tokenizer/steps/byte_words.h -- the words by which vocabularies write bytes that no
// other word of theirs has: <0x00> to <0xFF>.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

[[nodiscard]] std::string word_of_byte(uint8_t byte);
// The byte of such a word; nothing for another one.
[[nodiscard]] std::optional<char> byte_of_word(std::string_view word);

}  // namespace penstock
