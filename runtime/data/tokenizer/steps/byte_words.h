// runtime/data/tokenizer/steps/byte_words.h -- the words <0x00> to <0xFF>, by which vocabularies
// write single bytes of characters that they have no other word for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

[[nodiscard]] std::string word_of_byte(uint8_t byte);  // "<0x0A>" for 10
// The byte that such a word stands for; nullopt for any other word.
[[nodiscard]] std::optional<char> byte_of_word(std::string_view word);

}  // namespace penstock
